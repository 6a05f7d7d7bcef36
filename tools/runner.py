"""Run passes over a module as the command does: verified between passes, printed and timed where asked for.

Whatever goes wrong becomes a `CompileError`; what no input should cause is reported as `internal`, with the pass and
the op at which it happened.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, TextIO

from tileopt.dialects.diagnostics import CompileError, TileoptError, too_deep

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation
    from xdsl.passes import ModulePass

REPORT = "this is a bug in tileopt: please report it with the input. TILEOPT_DEBUG=1 shows where"


class Failed(Exception):
    """One or more errors that end the work on a module."""

    def __init__(self, *errors: TileoptError) -> None:
        super().__init__(*errors)
        self.errors = errors


@dataclass
class Timer:
    """Seconds spent, by what they were spent on, in order of first use."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def measure(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - start

    def report(self) -> str:
        rule = f"===-{'-' * 73}-==="
        total = sum(self.seconds.values())
        lines = [rule, f"{'... Execution time report ...':^80}".rstrip(), rule]
        lines += [f"  Total Execution Time: {total:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        for name, spent in (*self.seconds.items(), ("Total", total)):
            share = 100 * spent / total if total else 100.0
            lines.append(f"  {spent:8.4f} ({share:5.1f}%)  {name}")
        return "\n".join(lines) + "\n"


@dataclass
class Runner:
    """How passes are run, and where what they print goes."""

    ctx: Context
    log: TextIO
    timer: Timer = field(default_factory=Timer)
    verify_each: bool = True
    print_before: bool = False
    print_after: bool = False
    generic: bool = False
    debuginfo: bool = False

    def verify(self, module: ModuleOp, after: str | None = None) -> None:
        from tileopt.dialects.verifier import verify_module

        with self.timer.measure("Verifier"), guarded("the verifier"):
            errors: Sequence[CompileError] = verify_module(module)
        if errors and after is not None:
            for error in errors:
                error.notes = (*error.notes, (f"pass '{after}' left the module invalid", None))
        if errors:
            raise Failed(*errors)

    def run(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        from tileopt.passes.invariants import check, demand, holds

        debug = os.environ.get("TILEOPT_VERIFY") == "1"  # hand-written IR need not be what the pipeline makes
        for each in passes:
            if self.print_before:
                self._dump(f"Before {each.name}", module)
            with guarded(f"what pass '{each.name}' demands"):
                demand(each.name, module)
            ready = debug and holds(each.name, module, "before")
            with self.timer.measure(each.name), guarded(f"pass '{each.name}'", f"pass/{each.name}"):
                each.apply(self.ctx, module)
            if self.print_after:
                self._dump(f"After {each.name}", module)
            if self.verify_each:
                self.verify(module, each.name)
            if ready:
                check(each.name, module, "after")

    def print(self, module: ModuleOp) -> str:
        from xdsl.printer import Printer

        stream = StringIO()
        with self.timer.measure("Output"), guarded("the printer", "print/invalid"):
            printer = Printer(stream, print_generic_format=self.generic, print_debuginfo=self.debuginfo)
            printer.print_op(module)
        return stream.getvalue() + "\n"

    def _dump(self, when: str, module: ModuleOp) -> None:
        self.log.write(f"// -----// IR Dump {when} //----- //\n{self.print(module)}\n")


_FLATTER = "put inner parts into functions of their own, or give them names"


@contextmanager
def guarded(what: str, code: str = "internal") -> Iterator[None]:
    """Turn any failure of `what` into errors for the user. `code` is that of a failure which the input explains."""
    try:
        yield
    except (Failed, TileoptError, BrokenPipeError):
        raise
    except RecursionError as error:
        raise too_deep(f"the IR, for {what},", None, _FLATTER) from error
    except MemoryError as error:
        raise CompileError("limits/memory", f"{what} needs more memory than there is") from error
    except Exception as error:
        from xdsl.utils.exceptions import DiagnosticException

        if isinstance(error, DiagnosticException):
            raise _at(error, code, " ".join(str(error).split()), None) from error
        if os.environ.get("TILEOPT_DEBUG") == "1":
            traceback.print_exc()
        message = f"{what} failed: {type(error).__name__}: {' '.join(str(error).split())[:400]}"
        raise _at(error, "internal", message, REPORT) from error


def _at(error: Exception, code: str, message: str, help: str | None) -> CompileError:
    from tileopt.dialects.diagnostics import location_of

    op = _failing_op(error)
    where = "" if op is None or help is None else f" (at '{op.name}')"
    return CompileError(code, message + where, location=None if op is None else location_of(op), help=help)


def _failing_op(error: Exception) -> Operation | None:
    """The op that was worked on: what the innermost frame with a variable `op` holds in it."""
    from xdsl.ir import Operation

    found: Operation | None = None
    frame = error.__traceback__
    while frame is not None:
        op = frame.tb_frame.f_locals.get("op")
        found = op if isinstance(op, Operation) else found
        frame = frame.tb_next
    return found
