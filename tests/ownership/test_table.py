"""The table of programs: those in accepted/ compile, run and compute what NumPy does; those in rejected/ are refused
with the code, and at the line, that they say.

In a Python program the line ends with `#! code`. In IR the line before it is `// expected-error@+1 {{[code]: text}}`.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from command import tileopt as command

import tileopt
from tileopt import TileoptError

HERE = Path(__file__).parent
ACCEPTED = sorted((HERE / "accepted").iterdir())
REJECTED = sorted((HERE / "rejected").iterdir())
PYTHON = re.compile(r"#! (\S+)$")
IR = re.compile(r"// expected-error@\+1 \{\{\[(.*?)\]")
SAID = re.compile(r":(\d+):\d+: error\[(.*?)\]")


@pytest.fixture(autouse=True)
def from_the_start() -> Iterator[None]:
    tileopt.check_order(True)
    yield
    tileopt.check_order(True)


def run(path: Path) -> None:
    source = path.read_text()
    linecache.cache[str(path)] = (len(source), None, source.splitlines(keepends=True), str(path))
    module = ModuleType(path.stem)
    exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))


def expected(path: Path) -> tuple[str, int]:
    """The code of a rejected program and the line that the error names."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = (PYTHON if path.suffix == ".py" else IR).search(line)
        if match is not None:
            found.append((match[1], number + (path.suffix == ".mlir")))
    (only,) = found
    return only


@pytest.mark.parametrize("path", ACCEPTED, ids=[p.name for p in ACCEPTED])
def test_accepted(path: Path) -> None:
    if path.suffix == ".py":
        run(path)
        return
    done = command(path, "-p", "verify-ownership")
    assert done.code == 0, done.err


@pytest.mark.parametrize("path", REJECTED, ids=[p.name for p in REJECTED])
def test_rejected(path: Path) -> None:
    code, line = expected(path)
    if path.suffix == ".mlir":
        done = command(path, "-p", "verify-ownership")
        match = SAID.search(done.err)
        assert done.code == 1 and match is not None and (match[2], int(match[1])) == (code, line), done.err
        return
    with pytest.raises(TileoptError) as caught:
        run(path)
    error = caught.value
    assert error.code == code and error.location is not None, str(error)
    assert (error.location.file, error.location.line) == (str(path), line), str(error)
    assert error.help is not None


def test_the_table_is_large() -> None:
    assert len(ACCEPTED) >= 40 and len(REJECTED) >= 40
