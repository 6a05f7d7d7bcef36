"""How errors look, where they point, and that they survive being sent to another process."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from xdsl.dialects.builtin import UNKNOWN_LOC, CallSiteLoc, FusedLoc, LocationAttr, NameLoc, NoneAttr, StringAttr
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, Region

from tileopt.dialects import diagnostics
from tileopt.dialects.diagnostics import CompileError, Location, OwnershipError, TileoptError, fileloc, location_of


def test_an_error_renders_as_compilers_print_it() -> None:
    error = OwnershipError(
        "ownership/foreign-store",
        "a block may store only to its own tile",
        location=Location("kernel.py", 12, 5, "    tile.store(out, (j,), a)\n"),
        notes=[
            ("the block's own index is here", Location("kernel.py", 9, 9, "    i = tile.bid(0)")),
            ("and not j", None),
        ],
        help="index the store by i",
    )
    assert str(error).splitlines() == [
        "kernel.py:12:5: error[ownership/foreign-store]: a block may store only to its own tile",
        "    tile.store(out, (j,), a)",
        "    ^",
        "kernel.py:9:9: note: the block's own index is here",
        "    i = tile.bid(0)",
        "        ^",
        "note: and not j",
        "help: index the store by i",
    ]


def test_an_error_without_a_place() -> None:
    assert str(TileoptError("launch/arguments", "too few")) == "error[launch/arguments]: too few"


def test_the_source_line_is_read_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text("one\n\ttwo three\n")
    assert Location(str(path), 2, 6).snippet() == "\ttwo three\n\t    ^"
    assert Location(str(path), 7, 1).snippet() is None
    assert Location(str(tmp_path / "absent.py"), 1, 1).snippet() is None


@pytest.mark.parametrize(
    ("source", "column", "shown"),
    [
        ("中文 x", 4, "中文 x\n     ^"),
        ("a\0b\x1b[31m", 3, "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[31m\n  ^"),
        ("short", 99, "short\n     ^"),
        ("short", -3, "short\n^"),
    ],
)
def test_the_caret_stands_below_the_place(source: str, column: int, shown: str) -> None:
    assert Location("f", 1, column, source).snippet() == shown


def test_long_lines_are_cut_around_the_place() -> None:
    snippet = Location("f", 1, 5001, "a" * 5000 + "X" + "b" * 5000).snippet()
    assert snippet is not None
    line, caret = snippet.split("\n")
    assert len(line) < 200
    assert line[caret.index("^")] == "X"


def test_errors_can_be_sent_to_another_process() -> None:
    place = Location("f.py", 1, 2, "x = 1")
    error = OwnershipError("ownership/moved", "moved", location=place, help="clone", notes=[("here", place)])
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is OwnershipError
    assert str(copy) == str(error)


def test_the_hierarchy_of_errors() -> None:
    for name in ("OwnershipError", "BoundsError", "KernelTypeError", "UnsupportedError", "TargetError"):
        assert issubclass(getattr(diagnostics, name), CompileError)
    for name in ("CompileError", "LaunchError", "DeviceError"):
        assert issubclass(getattr(diagnostics, name), TileoptError)
    assert TileoptError("a/b", "c").severity == "error"


@pytest.mark.parametrize(
    "location",
    [
        fileloc("k.py", 3, 4),
        NameLoc(StringAttr("x"), fileloc("k.py", 3, 4)),
        CallSiteLoc(fileloc("k.py", 3, 4), fileloc("caller.py", 1, 1)),
        FusedLoc((NameLoc(StringAttr("x"), NoneAttr()), fileloc("k.py", 3, 4), fileloc("k.py", 9, 9)), NoneAttr()),
    ],
)
def test_the_place_of_an_op(location: LocationAttr) -> None:
    op = TestOp()
    op.location = location
    assert location_of(op) == Location("k.py", 3, 4)


def test_an_op_without_a_place_has_that_of_what_is_around_it() -> None:
    inner = TestOp()
    middle = TestOp(regions=[Region(Block([inner]))])
    outer = TestOp(regions=[Region(Block([middle]))])
    assert inner.location == UNKNOWN_LOC
    assert location_of(inner) is None
    outer.location = fileloc("k.py", 1, 1)
    assert location_of(inner) == Location("k.py", 1, 1)
    middle.location = fileloc("k.py", 2, 2)
    assert location_of(inner) == Location("k.py", 2, 2)
