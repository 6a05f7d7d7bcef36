"""Programs that are refused, one a file: each says in comments which error comes, where, and with which words.

    out[0] = 1.0  # error: ownership/foreign-index: names no thread

A comment behind a statement means the column where the line begins. For any other column it stands below, with a caret:

    v = s[63 - t]
    #   ^ error: race/missing-barrier: no barrier between

`# note: words` is a note of the error, in the same two forms; each note with a place must be told. The file is run as
a script, so an error may come from a definition, from compile() or from a launch.
"""

from __future__ import annotations

import re
import runpy
from dataclasses import dataclass
from pathlib import Path

import pytest

from tileopt import TileoptError
from tileopt.dialects.diagnostics import Location

HERE = Path(__file__).parent
FILES = sorted(path for path in HERE.rglob("*.py") if not path.name.startswith("test_"))
_MARK = re.compile(r"#( *\^)? (error|note): (?:([a-z-]+/[a-z0-9-]+): )?(.+)$")


@dataclass(frozen=True)
class Expected:
    """An error (with its code) or a note at a place; lines and columns count from 1."""

    line: int
    column: int
    code: str | None
    words: str


def expectations(path: Path) -> tuple[list[Expected], list[Expected]]:
    """The errors and the notes that a file's comments tell."""
    found: dict[str, list[Expected]] = {"error": [], "note": []}
    code_line, text = 0, ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        below = line.lstrip().startswith("#")
        if not below:
            code_line, text = number, line
        mark = _MARK.search(line)
        if mark is None:
            continue
        assert bool(mark[1]) == below, f"{path.name}:{number}: a caret stands below the line, and only there"
        column = line.index("^") + 1 if below else len(text) - len(text.lstrip()) + 1
        found[mark[2]].append(Expected(code_line, column, mark[3], mark[4].strip()))
    return found["error"], found["note"]


def run(path: Path) -> TileoptError:
    """The error that the file ends with."""
    with pytest.raises(TileoptError) as caught:
        runpy.run_path(str(path))
    return caught.value


def check(expected: Expected, path: Path, words: str, place: Location | None) -> None:
    assert place is not None, words
    assert (Path(place.file), place.line, place.column) == (path, expected.line, expected.column), words
    snippet = place.snippet()
    assert snippet is not None
    # The caret is under the text that the column counts to.
    source, caret = snippet.splitlines()
    assert len(caret) == place.column and source == path.read_text().splitlines()[place.line - 1]
    assert expected.words in words, words


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(HERE)) for path in FILES])
def test_rejected(path: Path) -> None:
    errors, notes = expectations(path)
    assert len(errors) == 1, "a file tells of one error"
    error = run(path)
    assert error.code == errors[0].code, error
    check(errors[0], path, str(error), error.location)
    placed = [(words, place) for words, place in error.notes if place is not None]
    assert len(placed) == len(notes), error
    placed.sort(key=lambda note: (note[1].line, note[1].column))
    for (words, place), expected in zip(placed, notes, strict=True):
        check(expected, path, words, place)


def test_there_are_programs_of_each_kind() -> None:
    kinds = {path.stem.partition("_")[0] for path in FILES if path.parent.name == "simt"}
    assert {"ownership", "bounds", "race", "contract", "type", "frontend"} <= kinds
    assert len([path for path in FILES if path.parent.name == "simt"]) >= 60


def test_descriptions_tell_programs_apart() -> None:
    """Each file begins with what is wrong with it."""
    described = [path.read_text().splitlines()[0] for path in FILES]
    assert all(line.startswith('"""') and line.endswith('."""') for line in described)
    assert len(set(described)) == len(described)
