"""Errors and source places: what every layer reports with.

An error names its code, its place, its cause and what to do about it. It renders as compilers print it:

    kernel.py:12:9: error[ownership/foreign-store]: a block may store only to its own tile
        tile.store(out, (j,), a)
        ^
    kernel.py:9:5: note: the block's own index is here
        i = tile.bid(0)
        ^
    help: index the store by the block's own index
"""

from __future__ import annotations

import contextlib
import linecache
import math
import os
import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.dialects.builtin import FileLineColLoc
    from xdsl.ir import Attribute, Operation

# Lines longer than this are cut around the caret: a generated file may hold a whole module on one line.
_WINDOW = 160
_INSIDE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_NOT_USERS = (_INSIDE, contextlib.contextmanager.__code__.co_filename)  # contextlib runs our `with` blocks

# Of a compile-time integer: nothing needs more, and Python prints no more than some 14000.
MAX_INTEGER_BITS = 1 << 13


@dataclass(frozen=True)
class Location:
    """A place in a source file. Lines and columns count from 1."""

    file: str
    line: int
    column: int
    source: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def snippet(self) -> str | None:
        """The source line with a caret below it, or None where the text cannot be had."""
        text = self.source if self.source is not None else linecache.getline(self.file, self.line)
        text = text.rstrip("\r\n")
        if not text.strip():
            return None
        at = min(max(self.column - 1, 0), len(text))
        if len(text) > _WINDOW:
            start = max(0, min(at - _WINDOW // 2, len(text) - _WINDOW))
            text, at = text[start : start + _WINDOW], at - start
        shown = "".join(c if c == "\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
        return f"{shown}\n{_pad(shown[:at])}^"


def _pad(text: str) -> str:
    """Blanks as wide as `text` on a terminal; tabs stay tabs, since only the terminal knows their width."""
    return "".join("\t" if c == "\t" else "  " if unicodedata.east_asian_width(c) in "WF" else " " for c in text)


def printable(text: str) -> str:
    """`text` with escapes for what a terminal would obey or not show, as `\\x1b`; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() else repr(c)[1:-1] for c in text)


def _render(heading: str, location: Location | None) -> str:
    if location is None:
        return printable(heading)
    snippet = location.snippet()
    first = printable(f"{location}: {heading}")
    return first if snippet is None else f"{first}\n{snippet}"


def shown(value: object) -> str:
    """A thing for a message: its repr, but for long integers, of which Python refuses to print the longest."""
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        items = [shown(v) for v in value]
        if isinstance(value, list):
            return f"[{', '.join(items)}]"
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if not isinstance(value, int):
        return repr(value)
    size = abs(value)
    if size.bit_length() <= MAX_INTEGER_BITS:
        return shortened(repr(value))
    count = int((size.bit_length() - 1) * math.log10(2))  # as few as it may have
    return f"an integer of {count + 1 if size < 10 ** (count + 1) else count + 2} digits"


_LONG = re.compile(r"(?<![\w.])-?\d{41,}(?![\w.])")


def shortened(text: str) -> str:
    """A text with only the ends of integers that are long."""
    return _LONG.sub(lambda n: f"{n[0][:12]}...{n[0][-8:]} ({len(n[0].lstrip('-'))} digits)", text)


def counted(count: int, one: str, many: str) -> str:
    """`1 index`, `2 indices`."""
    return f"{count} {one if count == 1 else many}"


def too_deep(what: str, place: Location | None, help: str) -> CompileError:
    """The error (`limits/depth`) of what takes more nested calls than Python allows, in place of its RecursionError."""
    limit = sys.getrecursionlimit()
    message = f"{what} is nested too deeply, for more than the {limit} nested calls that the compiler has"
    return CompileError("limits/depth", message, location=place, help=help)


def article(name: str) -> str:
    """A name with its article: `an int`, `a str`."""
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"


def call_site() -> Location | None:
    """The innermost line on the stack that is not tileopt's own, nor that of a `with` block's machinery."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_NOT_USERS):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno, 1)


class TileoptError(Exception):
    """Base of everything that tileopt raises at its users."""

    severity = "error"

    def __init__(
        self,
        code: str,
        message: str,
        *,
        location: Location | None = None,
        help: str | None = None,
        notes: Sequence[tuple[str, Location | None]] = (),
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.location = location
        self.help = help
        self.notes = tuple(notes)

    def __str__(self) -> str:
        parts = [_render(f"{self.severity}[{self.code}]: {self.message}", self.location)]
        parts += [_render(f"note: {text}", place) for text, place in self.notes]
        if self.help is not None:
            parts.append(printable(f"help: {self.help}"))
        return "\n".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions cross process boundaries (tuning compiles in workers), and pickle knows positional arguments only.
        return _rebuild, (type(self), self.code, self.message, self.location, self.help, self.notes)


def _rebuild(
    cls: type[TileoptError],
    code: str,
    message: str,
    location: Location | None,
    help: str | None,
    notes: Sequence[tuple[str, Location | None]],
) -> TileoptError:
    return cls(code, message, location=location, help=help, notes=notes)


class CompileError(TileoptError):
    """A program that cannot be compiled."""


class OwnershipError(CompileError):
    """A store to what is not owned, an aliased argument, a use after a move."""


class BoundsError(CompileError):
    """An access that is known to fall outside its array."""


class KernelTypeError(CompileError):
    """Operands or arguments whose types do not fit."""


class UnsupportedError(CompileError):
    """A well-formed program that uses what tileopt does not have."""


class TargetError(CompileError):
    """Something that the chosen target does not have, or an unknown target."""


class CheckError(TileoptError):
    """What the checking mode found in a kernel that ran: a race, an uninitialised read, a divergent barrier."""


class LaunchError(TileoptError):
    """A launch whose arguments break the kernel's contract."""


class KernelAssertionError(TileoptError, AssertionError):
    """An assertion in a kernel that did not hold for some thread."""


class DeviceError(TileoptError):
    """A failure that the driver or the device reported."""


def fileloc(file: str, line: int, column: int) -> FileLineColLoc:
    """The xDSL location attribute of a place."""
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def location_of(op: Operation) -> Location | None:
    """The place that `op` came from: its own, or that of the nearest op around it which has one."""
    current: Operation | None = op
    while current is not None:
        place = _place(current.location)
        if place is not None:
            return place
        current = current.parent_op()
    return None


def _place(loc: Attribute) -> Location | None:
    """The first file, line and column in a location, which may be named, fused or a call site."""
    from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc

    pending: list[Attribute] = [loc]
    while pending:
        match pending.pop():
            case FileLineColLoc(filename=filename, line=line, column=column):
                return Location(filename.data, line.data, column.data)
            case CallSiteLoc(callee=callee, caller=caller):
                pending += [caller, callee]
            case NameLoc(location=inner):
                pending.append(inner)
            case FusedLoc(locations=ArrayAttr() as inner):
                pending += reversed(inner.data)
            case _:
                continue
    return None
