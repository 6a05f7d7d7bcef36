"""What changes a kernel's fingerprint, and what does not."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from python_kernels import module

from tileopt.frontends.python.source import source_of

TEXT = """
SCALE = 2.0
UNRELATED = 1
FUNCTIONS = (lambda v: v + 1,)

def inner(v):
    return v * SCALE

def helper(v, shift=1.0):
    return inner(v) + shift

@tile.kernel
def k(x: tile.In, out: tile.Out):
    tile.store(out, 0, helper(tile.load(x, 0, 8)) * math.pi + FUNCTIONS[0](1))
"""


def fingerprint(text: str) -> str:
    result: str = module(text)["k"].fingerprint()
    return result


def test_the_same_source_has_the_same_fingerprint() -> None:
    assert fingerprint(TEXT) == fingerprint(TEXT)


def test_where_it_stands_is_kept_apart() -> None:
    moved_helper = TEXT.replace("def inner", "\ndef inner", 1).replace("\n\n@tile", "\n@tile")
    texts = (TEXT, "<a>"), (TEXT, "<b>"), ("\n" + TEXT, "<a>"), (moved_helper, "<a>"), (TEXT, "<a>")
    found = [(k.fingerprint(), k.places()) for k in (module(text, file)["k"] for text, file in texts)]
    assert len({fingerprint for fingerprint, _ in found}) == 1
    assert len({places for _, places in found}) == 4 and found[0] == found[4]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SCALE = 2.0", "SCALE = 3.0"),
        ("SCALE = 2.0", "SCALE = 2"),
        ("shift=1.0", "shift=2.0"),
        ("return v * SCALE", "return v + SCALE"),
        ("inner(v) + shift", "inner(v) - shift"),
        ("lambda v: v + 1", "lambda v: v + 2"),
        ("tile.load(x, 0, 8)", "tile.load(x, 1, 8)"),
    ],
)
def test_every_part_counts(old: str, new: str) -> None:
    assert fingerprint(TEXT) != fingerprint(TEXT.replace(old, new))


def test_other_globals_do_not_count() -> None:
    assert fingerprint(TEXT) == fingerprint(TEXT.replace("UNRELATED = 1", "UNRELATED = 2"))


def test_a_rebound_constant_is_noticed_and_forgotten_again() -> None:
    names = module(TEXT)
    kernel = names["k"]
    first = kernel.fingerprint()
    assert kernel.fingerprint() is first
    names["SCALE"] = 5.0
    second = kernel.fingerprint()
    assert second != first
    names["SCALE"] = 2.0
    assert kernel.fingerprint() == first
    names["inner"] = names["helper"]
    assert kernel.fingerprint() != first
    del names["SCALE"]
    kernel.fingerprint()


def test_equal_code_in_two_files_is_told_apart() -> None:
    text = "def helper():\n    return C\n"
    first, second = module("C = 1\n" + text), module("C = 2\n" + text)
    names = module(
        """
        @tile.kernel
        def k(out: tile.Out):
            tile.store(out, 0, f() + g())
        """
    )
    names["f"], names["g"] = first["helper"], second["helper"]
    before = names["k"].fingerprint()
    second["C"] = 3
    assert names["k"].fingerprint() != before
    assert source_of(first["helper"]).file != source_of(second["helper"]).file


def test_methods_of_records_count() -> None:
    text = """
    from dataclasses import dataclass
    @dataclass(frozen=True)
    class Config:
        size: int
        def twice(self):
            return self.size * 2
    CONFIG = Config(4)
    @tile.kernel
    def k(out: tile.Out):
        tile.store(out, 0, tile.zeros(CONFIG.twice()))
    """
    assert fingerprint(text) == fingerprint(text) != fingerprint(text.replace("size * 2", "size * 3"))
    assert fingerprint(text) != fingerprint(text.replace("Config(4)", "Config(5)"))


def test_captured_variables_count() -> None:
    text = """
    def make(shift):
        @tile.kernel
        def k(x: tile.In, out: tile.Out):
            tile.store(out, 0, tile.load(x, 0, 8) + shift)
        return k
    """
    make = module(text)["make"]
    assert make(1).fingerprint() == make(1).fingerprint() != make(2).fingerprint() != make(2.0).fingerprint()


def test_an_edited_helper_in_another_file_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "helpers_of_a_test.py"
    path.write_text("LIMIT = 4\ndef helper(v):\n    return v + LIMIT\n")
    helpers: Any = importlib.import_module("helpers_of_a_test")
    names = module(
        """
        import helpers_of_a_test

        @tile.kernel
        def k(out: tile.Out):
            tile.store(out, 0, helpers_of_a_test.helper(1.0))
        """
    )
    first = names["k"].fingerprint()
    path.write_text("LIMIT = 4\ndef helper(v):\n    return v * LIMIT * 1000\n")
    importlib.invalidate_caches()
    importlib.reload(helpers)
    second = names["k"].fingerprint()
    assert second != first
    helpers.LIMIT = 5
    assert names["k"].fingerprint() not in (first, second)
