"""A lit format that runs `tileopt ... | filecheck ...` lines inside the worker: twenty times faster than processes.

A process for each command costs 0.3 s, most of it Python's start. What is run here is the command's own entry on
streams in memory. A file that uses anything but pipes of these two commands, `not` and `2>&1` goes to lit's own shell.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lit.formats
import lit.Test

_RUN = re.compile(r"RUN:[ \t]*(.*)")
# Directives that only lit itself obeys.
_LIT_ONLY = re.compile(r"\b(?:REQUIRES|UNSUPPORTED|XFAIL|ALLOW_RETRIES|(?:RE)?DEFINE|END)[.:]")


@dataclass(frozen=True)
class Outcome:
    """Whether a golden holds, and if not, what was run and what it said."""

    ok: bool
    log: str = ""


@dataclass
class Command:
    """One command of a pipe."""

    argv: list[str] = field(default_factory=list)
    merge: bool = False
    negated: bool = False


class InProcess(lit.formats.ShTest):  # type: ignore[misc]
    """The format that `lit.cfg` names."""

    def execute(self, test: Any, litConfig: Any) -> Any:
        outcome = run_golden(Path(test.getSourcePath()))
        if outcome is None:
            return super().execute(test, litConfig)
        return lit.Test.Result(lit.Test.PASS if outcome.ok else lit.Test.FAIL, outcome.log)


def run_golden(path: Path) -> Outcome | None:
    """Run the RUN lines of a file in this process; None where they need a shell."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if _LIT_ONLY.search(text):
        return None
    lines = list(run_lines(text))
    if not lines:
        return Outcome(False, "the file has no RUN line")
    with tempfile.TemporaryDirectory() as scratch, restored():
        pipes = [parse_pipe(line, path, Path(scratch)) for line in lines]
        if any(pipe is None for pipe in pipes):
            return None
        for line, pipe in zip(lines, pipes, strict=True):
            assert pipe is not None
            log = _run_pipe(pipe)
            if log is not None:
                return Outcome(False, f"RUN: {line}\n{log}")
    return Outcome(True)


def run_lines(text: str) -> Iterator[str]:
    """The RUN lines, those that end with a backslash joined with the next."""
    pending = ""
    for match in _RUN.finditer(text):
        line = pending + match[1].strip()
        if line.endswith("\\"):
            pending = line[:-1]
        else:
            pending = ""
            yield line


def parse_pipe(line: str, path: Path, scratch: Path) -> list[Command] | None:
    """The commands of one RUN line; None where it is more than a pipe of what can be run here."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:
        return None
    commands = [Command()]
    at = 0
    while at < len(tokens):
        token = tokens[at]
        current = commands[-1]
        if token == "|":
            commands.append(Command())
        elif token == ">&" and current.argv[-1:] == ["2"] and tokens[at + 1 : at + 2] == ["1"]:
            current.argv.pop()
            current.merge = True
            at += 1
        elif set(token) <= set("|&;<>"):
            return None
        elif token == "not" and not current.argv:
            current.negated = not current.negated
        else:
            current.argv.append(_substitute(token, path, scratch))
        at += 1
    return commands if all(c.argv and c.argv[0] in _TOOLS for c in commands) else None


def _substitute(token: str, path: Path, scratch: Path) -> str:
    values = {"%s": str(path), "%S": str(path.parent), "%t": str(scratch / path.stem), "%%": "%"}
    return re.sub(r"%[sSt%]", lambda match: values[match[0]], token)


def _run_pipe(commands: list[Command]) -> str | None:
    """Run a pipe; what went wrong, or None. As in lit's shell, each of its commands must succeed."""
    data = b""
    for command in commands:
        code, data, errors = _TOOLS[command.argv[0]](command.argv[1:], data, command.merge)
        if (code != 0) is not command.negated:
            said = data.decode(errors="replace") + errors
            return f"{'not ' * command.negated}{shlex.join(command.argv)}: exit code {code}\n{said}"
    return None


def _tileopt(argv: list[str], stdin: bytes, merge: bool) -> tuple[int, bytes, str]:
    from tileopt.tools.opt import Console, run

    out = io.BytesIO()
    err = io.TextIOWrapper(out if merge else io.BytesIO(), encoding="utf-8", write_through=True)
    code = run(argv, Console(io.BytesIO(stdin), out, err))
    said = "" if merge else err.buffer.getvalue().decode()  # type: ignore[attr-defined]
    data = out.getvalue()
    err.detach()
    return code, data, said


def _filecheck(argv: list[str], stdin: bytes, merge: bool) -> tuple[int, bytes, str]:
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options

    said = io.StringIO()
    keep = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = Matcher.from_opts(parse_argv_options(["filecheck", *argv])).run()
    except Exception as error:
        return 2, b"", f"{said.getvalue()}{type(error).__name__}: {error}"
    finally:
        sys.stdin = keep
    return code, b"", said.getvalue()


_TOOLS: dict[str, Callable[[list[str], bytes, bool], tuple[int, bytes, str]]] = {
    "tileopt": _tileopt,
    "filecheck": _filecheck,
}


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Leave the process as it was: one golden must not change what another sees."""
    from xdsl.ir import Attribute

    directory, environment, argv = os.getcwd(), dict(os.environ), list(sys.argv)
    path, limit, collecting = list(sys.path), sys.getrecursionlimit(), gc.isenabled()
    checked = Attribute.__post_init__
    try:
        with warnings.catch_warnings():
            yield
    finally:
        os.chdir(directory)
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        sys.argv[:], sys.path[:] = argv, path
        sys.setrecursionlimit(limit)
        Attribute.__post_init__ = checked  # type: ignore[method-assign]
        (gc.enable if collecting else gc.disable)()
