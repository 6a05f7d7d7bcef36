"""The examples of docs/codes, run: lines with `-` are refused, and with those with `+` instead the program passes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command import tileopt as command
from python_kernels import module

from tileopt import TileoptError
from tileopt.dialects.contracts import Missing, ParamKind
from tileopt.frontends.kernel import Kernel
from tileopt.tools.explain import Entry, entries

_DIFF = re.compile(r"```diff (\w+)\n(.*?)```", re.DOTALL)
_FILE = re.compile(r"```mlir\n(.*?)```", re.DOTALL)
_ARGS = re.compile(r"// tileopt a\.mlir(.*)\n")
_CODE = re.compile(r"error\[([^\]]+)\]")


@dataclass(frozen=True)
class Example:
    """One example of a code. `file`: the module that a command works on."""

    code: str
    language: str
    lines: tuple[str, ...]
    file: str = ""

    def text(self, mark: str) -> str:
        """The program with the lines that have this mark."""
        return "\n".join(line[1:] for line in self.lines if line[:1] in (mark, " ", "")) + "\n"

    def fails(self, folder: Path) -> str | None:
        """The code of the refused program's error."""
        return self._run(self.text("-"), folder)

    def passes(self, folder: Path) -> str | None:
        """None, or the code of the error that the mended program still has."""
        return self._run(self.text("+"), folder)

    def _run(self, text: str, folder: Path) -> str | None:
        if self.language == "python":
            try:
                run_python(text)
            except TileoptError as error:
                return error.code
            return None
        path = folder / "a.mlir"
        if self.language == "mlir":
            path.write_text(text)
            found = _ARGS.match(text)
            return _command(["a.mlir", *shlex.split(found[1] if found else "")], path)
        path.write_text(self.file)
        return _command(shlex.split(text)[1:], path)


def _command(args: list[str], path: Path) -> str | None:
    done = command(*(str(path) if a == "a.mlir" else a for a in args))
    if done.code == 0:
        return None
    found = _CODE.search(done.err)
    return found[1] if found else done.err


def run_python(text: str) -> None:
    """Runs a program, and compiles the kernels that it defines and does not launch."""
    launched: set[int] = set()
    before = Kernel.__getitem__

    def noted(self: Kernel, grid: Any) -> Any:
        launched.add(id(self))
        return before(self, grid)

    Kernel.__getitem__ = noted  # type: ignore[method-assign]
    try:
        names = module(f"import numpy as np\nimport tileopt\n{text}")
    finally:
        Kernel.__getitem__ = before  # type: ignore[method-assign]
    for thing in names.values():
        if isinstance(thing, Kernel) and id(thing) not in launched and "compile(" not in text:
            thing.compile("cpu", **signature(thing))


def signature(kernel: Kernel) -> dict[str, str]:
    """f32 vectors where a kernel does not say more."""
    given = {}
    for p in kernel.parameters:
        if p.kind.is_array:
            extents = ", ".join("?" * (1 if p.rank is None else p.rank))
            given[p.name] = f"{p.dtype or 'f32'}[{extents}]"
        elif p.kind is ParamKind.SCALAR and p.dtype is None:
            given[p.name] = "i64"
        elif p.kind is ParamKind.CONST:
            assert p.default is not Missing
    return given


def examples() -> Iterator[Example]:
    """Every example of every code."""
    for entry in entries():
        yield from of_entry(entry)


def of_entry(entry: Entry) -> Iterator[Example]:
    file = _FILE.search(entry.text)
    for language, body in _DIFF.findall(entry.text):
        yield Example(entry.code, language, tuple(body.rstrip("\n").split("\n")), file[1] if file else "")
