"""`tileopt`: read IR, run passes over it, write it or what it compiles to.

Exit codes are mlir-opt's: 0 where all went well, 1 otherwise. No input makes it crash: `run` turns whatever goes wrong
into a diagnostic.
"""

from __future__ import annotations

import dataclasses
import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, TextIO

from tileopt.dialects.diagnostics import CompileError, Location, TargetError, TileoptError, location_of
from tileopt.passes.pipeline_text import parse_pipeline
from tileopt.tools import about
from tileopt.tools.options import Options, UsageError, parse_options, usage
from tileopt.tools.runner import Failed, Runner, Timer, guarded

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

_SEPARATOR = re.compile(r"^// -----[ \t\r]*$", re.MULTILINE)


@dataclass(frozen=True)
class Console:
    """Where the command reads and writes: standard streams, or memory where it runs inside a test."""

    stdin: BinaryIO
    stdout: BinaryIO
    stderr: TextIO


def main(argv: Sequence[str] | None = None) -> int:
    """The command. One short run collects no garbage worth the time that it takes to look for it."""
    gc.disable()
    try:
        return run(sys.argv[1:] if argv is None else argv, Console(sys.stdin.buffer, sys.stdout.buffer, sys.stderr))
    except BrokenPipeError:
        # The reader, `head` perhaps, has gone. Python would complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def run(argv: Sequence[str], console: Console) -> int:
    """Run the command on `console` and return its exit code."""
    try:
        with guarded("tileopt"):
            if argv and argv[0] == "explain":
                from tileopt.tools.explain import explain

                return _tell(console, explain(list(argv[1:])))
            options = parse_options(argv)
            said = _about(options)
            if said is not None:
                return _tell(console, said)
            return _Session(options, console).run()
    except Failed as failed:
        _say(console.stderr, *failed.errors)
    except TileoptError as error:
        _say(console.stderr, error)
    return 1


def _tell(console: Console, text: str) -> int:
    console.stdout.write(text.encode())
    console.stdout.flush()
    return 0


class _Session:
    """One run of the command: some files, each of some chunks."""

    def __init__(self, options: Options, console: Console) -> None:
        self.options = options
        self.console = console
        self.timer = Timer()
        if options.target is not None:
            about.load_targets(options.target)
        with guarded("the pipeline"):
            self.passes = parse_pipeline(options.passes)

    def run(self) -> int:
        outputs: list[bytes] = []
        failed = False
        for name in self.options.files or ["-"]:
            text = self._read(name)
            chunks = list(split_chunks(text)) if self.options.split_input_file else [text]
            for chunk in chunks:
                output, ok = self._chunk(chunk, _shown(name))
                failed |= not ok
                outputs.append(output)
        if self.options.emit == "cubin" and len(outputs) > 1:
            raise UsageError("usage", "--emit cubin takes one module, not several")
        if not failed or self.options.output == "-":
            self._write(b"// -----\n".join(outputs))
        if self.options.timing:
            self.console.stderr.write(self.timer.report())
        return 1 if failed else 0

    def _read(self, name: str) -> str:
        try:
            data = self.console.stdin.read() if name == "-" else _read_file(name)
        except OSError as error:
            raise CompileError("io/read", f"cannot read '{name}': {error.strerror or error}") from error
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = data[: error.start].decode("utf-8-sig")
            place = Location(_shown(name), before.count("\n") + 1, len(before) - before.rfind("\n"), "")
            what = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
            raise CompileError("parse/encoding", what, location=place) from error

    def _write(self, data: bytes) -> None:
        if self.options.output == "-":
            self.console.stdout.write(data)
            self.console.stdout.flush()
            return
        try:
            with open(self.options.output, "wb") as file:
                file.write(data)
        except OSError as error:
            where = self.options.output
            raise CompileError("io/write", f"cannot write '{where}': {error.strerror or error}") from error

    def _chunk(self, text: str, name: str) -> tuple[bytes, bool]:
        """What one chunk yields, and whether it is as it should be."""
        errors: Sequence[TileoptError] = ()
        output = b""
        try:
            with guarded("tileopt"):
                output = self._compile(text, name)
        except Failed as failed:
            errors = failed.errors
        except TileoptError as error:
            errors = (error,)
        if self.options.verify_diagnostics:
            from tileopt.tools.expectations import mismatches, read_expectations

            errors = mismatches(read_expectations(text, name), errors, name)
        _say(self.console.stderr, *(_with_source(error, text, name) for error in errors))
        return output, not errors

    def _compile(self, text: str, name: str) -> bytes:
        from tileopt.dialects.xdsl_compat import create_context, parse_module

        options = self.options
        # A context for each chunk: what one defines does not reach the next.
        ctx = create_context(allow_unregistered=options.allow_unregistered_dialect)
        runner = Runner(
            ctx,
            self.console.stderr,
            self.timer,
            verify_each=options.verify_each,
            print_before=options.print_ir_before_all,
            print_after=options.print_ir_after_all,
            generic=options.mlir_print_op_generic,
            debuginfo=options.mlir_print_debuginfo,
        )
        with self.timer.measure("Parser"), guarded("the parser"):
            module = parse_module(ctx, text, name)
        target = _target(module, options.target)
        if options.deny_checks:
            _deny_checks(module)
        runner.verify(module)
        runner.run(self.passes, module)
        if options.run:
            from tileopt.tools.run_program import run_module

            runner.run(parse_pipeline("verify-ownership"), module.clone())
            with guarded("--run"):
                return run_module(module, target or "cpu", options)
        if options.emit == "mlir":
            return runner.print(module).encode("utf-8", "backslashreplace")
        if target is None:
            help = "give --target, or the module a tile.target; --list-targets lists them"
            raise CompileError("target/missing", f"--emit {options.emit} needs a target", help=help)
        from tileopt.backends.pipelines import PASSES, run_to

        seen = options.timing or options.print_ir_before_all or options.print_ir_after_all
        if seen:  # the target's passes one by one
            runner.run(parse_pipeline(",".join(PASSES)), module)
        with self.timer.measure(f"Emit {options.emit}"), guarded(f"--emit {options.emit}"):
            result = run_to(module, target, options.emit, lowered=bool(seen))
        return result if isinstance(result, bytes) else result.encode()


def split_chunks(text: str) -> Iterator[str]:
    """The parts between `// -----` lines, each led by blank lines so that its line numbers are those of the file."""
    start = 0
    for separator in (*_SEPARATOR.finditer(text), None):
        end = len(text) if separator is None else separator.start()
        yield "\n" * text.count("\n", 0, start) + text[start:end]
        start = end if separator is None else separator.end()


def _target(module: ModuleOp, default: str | None) -> str | None:
    """The target that the module is for, as it says itself or `--target` does; passes read it from the module."""
    from xdsl.dialects.builtin import StringAttr

    named = module.attributes.get("tile.target")
    if named is not None and default is not None and named != StringAttr(default):
        raise TargetError(
            "target/conflict",
            f"the module is for {named.data if isinstance(named, StringAttr) else named}, and --target says {default}",
            location=location_of(module),
            help="drop tile.target from the module, or leave --target out",
        )
    if named is None and default is not None:
        named = module.attributes["tile.target"] = StringAttr(default)
    if named is None:
        return None
    try:
        if not isinstance(named, StringAttr):
            raise TargetError("target/invalid", f"tile.target must be a string, not {named}")
        about.load_targets(named.data)
    except TargetError as error:
        error.location = error.location or location_of(module)
        raise
    return named.data


def _deny_checks(module: ModuleOp) -> None:
    """Says of each kernel of threads that no test of an index may be left."""
    from xdsl.dialects.builtin import StringAttr

    from tileopt.dialects.kernel import CHECKS
    from tileopt.dialects.simt import Kernel

    for op in module.walk():
        if isinstance(op, Kernel):
            op.attributes[CHECKS] = StringAttr("denied")


def _about(options: Options) -> str | None:
    if options.help:
        return usage()
    if options.version or options.list_passes or options.list_dialects or options.list_targets:
        wanted = (
            (options.version, about.versions),
            (options.list_passes, about.passes),
            (options.list_dialects, about.dialects),
            (options.list_targets, about.targets),
        )
        return "".join(tell() for flag, tell in wanted if flag)
    return None


def _shown(name: str) -> str:
    return "<stdin>" if name == "-" else name


def _read_file(name: str) -> bytes:
    with open(name, "rb") as file:
        return file.read()


def _with_source(error: TileoptError, text: str, name: str) -> TileoptError:
    """The error with the lines that it points at: standard input cannot be read a second time."""
    lines = text.split("\n")

    def fill(place: Location | None) -> Location | None:
        if place is None or place.source is not None or place.file != name or not 0 < place.line <= len(lines):
            return place
        return dataclasses.replace(place, source=lines[place.line - 1])

    error.location = fill(error.location)
    error.notes = tuple((note, fill(place)) for note, place in error.notes)
    return error


def _say(stream: TextIO, *errors: TileoptError) -> None:
    for error in errors:
        stream.write(f"{error}\n")


if __name__ == "__main__":
    sys.exit(main())
