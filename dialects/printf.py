"""Format strings of `simt.printf`: C's, with the values' types in their conversions.

A conversion is `%[flags][width][.precision][ll]kind`: `ll` says that the value is an i64, where it would be an i32;
the kinds of floats take an f64. `%%` is a percent sign. This is what vprintf takes on a GPU (CUDA C++ Programming
Guide, "Formatted Output"); the CPU target reads it from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

INTEGERS, FLOATS = "diouxXc", "fFeEgGaA"
_PATTERN = re.compile(r"%(?:(?P<percent>%)|(?P<spec>[-+ #0]*\d*(?:\.\d*)?)(?P<length>hh?|ll?|)(?P<kind>[a-zA-Z]))?")


@dataclass(frozen=True, slots=True)
class Conversion:
    """One conversion, which stands at text[start:end]. `spec`: flags, width and precision."""

    start: int
    end: int
    spec: str
    length: str
    kind: str

    @property
    def text(self) -> str:
        return f"%{self.spec}{self.length}{self.kind}"

    @property
    def operand(self) -> str:
        """The IR's type of the value that it prints."""
        if self.kind in FLOATS:
            return "f64"
        return "i64" if self.length == "ll" else "i32"


def conversions(text: str) -> Iterator[Conversion]:
    """The conversions of a format string, without `%%`. Raises ValueError where it is none."""
    for found in _PATTERN.finditer(text):
        if found["percent"]:
            continue
        kind = found["kind"]
        if kind is None or kind not in INTEGERS + FLOATS + "s":
            raise ValueError(f"'{text[found.start() :][:8]}' is no conversion")
        yield Conversion(found.start(), found.end(), found["spec"], found["length"], kind)


def parts(text: str) -> Iterator[str | Conversion]:
    """The text between conversions, with `%%` as `%`, and the conversions."""
    at = 0
    for conversion in conversions(text):
        yield text[at : conversion.start].replace("%%", "%")
        yield conversion
        at = conversion.end
    yield text[at:].replace("%%", "%")
