"""`--verify-diagnostics`: the diagnostics that a test expects, written beside the code, against those that came.

The forms are MLIR's. Where a diagnostic is expected: on this line, or `@+N`, `@-N`, `@above` and `@below` (the nearest
line with no expectation of its own), `@unknown` (it has no place). `-re` takes the parts in `{{...}}` as regular
expressions. What is compared is `[code]: message`, so that a test may name the code, the message or both:

    // expected-error@+1 {{[verify/arith.addi]}}
    // expected-note@above {{defined here}}
    // expected-error-re@below {{index {{[0-9]+}} is out of bounds}}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tileopt.dialects.diagnostics import CompileError, Location, TileoptError

_EXPECTED = re.compile(
    r"expected-(?P<kind>error|note|warning|remark)(?P<re>-re)?\s*"
    r"(?:@(?P<where>[+-]\d{1,9}|above|below|unknown))?\s*\{\{(?P<text>.*)\}\}\s*$"
)
_STARTED = re.compile(r"expected-(?:error|note|warning|remark)\b")


@dataclass
class Expectation:
    """One diagnostic that must come: its kind, its line (None: no place) and what its text holds."""

    kind: str
    at: Location
    line: int | None
    text: str
    pattern: re.Pattern[str]
    met: bool = field(default=False)


@dataclass(frozen=True)
class Emitted:
    """One diagnostic that came. A note without a place of its own need not be expected."""

    kind: str
    location: Location | None
    text: str
    optional: bool = False


def emitted(error: TileoptError) -> Iterator[Emitted]:
    """The error and each of its notes."""
    yield Emitted("error", error.location, f"[{error.code}]: {error.message}")
    for text, place in error.notes:
        yield Emitted("note", place or error.location, text, optional=place is None)


def read_expectations(text: str, file: str) -> list[Expectation]:
    """The expectations in a file's text. One that cannot be read is an error: it would never fail."""
    lines = text.split("\n")
    marked = {number for number, line in enumerate(lines, 1) if _STARTED.search(line)}
    found: list[Expectation] = []
    for number in sorted(marked):
        line = lines[number - 1]
        match = _EXPECTED.search(line)
        start = _STARTED.search(line)
        assert start is not None
        at = Location(file, number, start.start() + 1, line)
        if match is None:
            raise CompileError(
                "expected/syntax", "cannot read this expectation", location=at, help="write expected-error@+1 {{text}}"
            )
        expected_line = _line(match["where"], number, marked, len(lines))
        found.append(Expectation(match["kind"], at, expected_line, match["text"], _pattern(match, at)))
    return found


def _line(where: str | None, number: int, marked: set[int], last: int) -> int | None:
    if where is None:
        return number
    if where == "unknown":
        return None
    if where in ("above", "below"):
        step = -1 if where == "above" else 1
        number += step
        while number in marked and 0 < number <= last:
            number += step
        return number
    return number + int(where)


def _pattern(match: re.Match[str], at: Location) -> re.Pattern[str]:
    if match["re"] is None:
        return re.compile(re.escape(match["text"]))
    try:
        # Between the regular expressions stands plain text.
        parts = re.split(r"\{\{(.*?)\}\}", match["text"])
        return re.compile("".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts)))
    except re.error as error:
        raise CompileError("expected/syntax", f"invalid regular expression: {error}", location=at) from error


def mismatches(expected: Sequence[Expectation], came: Sequence[TileoptError], file: str) -> list[CompileError]:
    """What did not come, and what came unexpected. Each expectation stands for one diagnostic."""
    wrong: list[CompileError] = []
    for error in came:
        for diagnostic in emitted(error):
            match = next((e for e in expected if not e.met and _meets(e, diagnostic, file)), None)
            if match is not None:
                match.met = True
            elif not diagnostic.optional:
                message = f"unexpected {diagnostic.kind}: {diagnostic.text}"
                wrong.append(CompileError("expected/unexpected", message, location=diagnostic.location))
    for e in expected:
        if not e.met:
            wrong.append(
                CompileError("expected/missing", f'expected {e.kind} "{e.text}" was not produced', location=e.at)
            )
    return wrong


def _meets(expectation: Expectation, diagnostic: Emitted, file: str) -> bool:
    place = diagnostic.location
    if expectation.kind != diagnostic.kind:
        return False
    if (place is None) != (expectation.line is None):
        return False
    if place is not None and (place.line != expectation.line or place.file != file):
        return False
    return expectation.pattern.search(diagnostic.text) is not None
