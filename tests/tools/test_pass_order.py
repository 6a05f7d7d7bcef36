"""Passes run alone and out of order: each does its work or says which pass is missing; nothing fails inside."""

from __future__ import annotations

import random
import zlib

import pytest
from command import tileopt
from test_fuzz import GOLDENS
from xdsl.context import Context

from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.invariants import ENSURES, REQUIRES
from tileopt.passes.registry import pass_class, pass_factories
from tileopt.tools.opt import split_chunks

CHUNKS = [(path, text) for path in GOLDENS for text in split_chunks(path.read_text()) if text.strip()]
WITHOUT_LAYOUTS = """module attributes {tile.target = "sm_80"} {
tile.kernel @k(%x: !tile.view<?xf32, owned>) {
  %z = arith.constant dense<0.0> : tensor<8xf32>
  tile.return
}
}
"""
WITHOUT_ATOMS = """module attributes {tile.target = "sm_80"} {
tile.kernel @k(%x: !tile.view<?xf32, owned>) {
  %c = arith.constant 0.0 : f32
  %a = tile.splat %c : f32 -> tensor<16x16xf32>
  %d = tile.mma %a, %a, %a : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  tile.return
}
}
"""


def run(passes: list[str], text: str) -> None:
    done = tileopt("-p", ",".join(passes), "--allow-unregistered-dialect", "--no-verify-each", stdin=text)
    assert "error[internal" not in done.err, (passes, text, done.err)


@pytest.mark.parametrize("name", sorted(pass_factories()))
def test_any_pass_may_stand_alone(name: str) -> None:
    # A third of the programs for each pass, not the same for all: time is short.
    for _, text in CHUNKS[zlib.crc32(name.encode()) % 3 :: 3]:
        run([name], text)


@pytest.mark.parametrize("seed", range(4))
def test_passes_in_any_order(seed: int) -> None:
    rng, names = random.Random(seed), sorted(pass_factories())
    for _, text in rng.sample(CHUNKS, min(60, len(CHUNKS))):
        run(rng.sample(names, rng.randint(2, 4)), text)


MISSING = [
    ("lower-tile-to-simt", WITHOUT_LAYOUTS, 3, "assign-layouts"),
    ("fold-layouts", WITHOUT_LAYOUTS, 3, "assign-layouts"),
    ("assign-layouts", WITHOUT_ATOMS, 5, "map-tensor-cores"),
    ("pipeline-loops", WITHOUT_ATOMS, 5, "map-tensor-cores"),
    ("lower-pipe", WITHOUT_LAYOUTS, 2, "lower-tile-to-simt"),
    ("allocate-onchip", WITHOUT_LAYOUTS, 2, "lower-tile-to-simt"),
]


@pytest.mark.parametrize(("name", "text", "line", "missing"), MISSING, ids=[case[0] for case in MISSING])
def test_the_missing_pass_is_named(name: str, text: str, line: int, missing: str) -> None:
    done = tileopt("-p", name, stdin=text)
    assert done.code == 1
    assert done.err.startswith(f"<stdin>:{line}:")
    assert f"error[pass/precondition]: {name} needs" in done.err
    assert done.err.rstrip().endswith(f"help: run {missing} first")


@pytest.mark.parametrize(("name", "text"), [("lower-tile-to-simt", WITHOUT_LAYOUTS), ("assign-layouts", WITHOUT_ATOMS)])
def test_a_pass_says_so_without_the_command(name: str, text: str) -> None:
    found = pass_class(name)
    assert found is not None
    with pytest.raises(CompileError) as caught:
        found().apply(Context(), parse_module(create_context(), text))
    assert caught.value.code == "pass/precondition"


def test_what_a_pass_demands_another_promises() -> None:
    promised = {predicate for predicates in ENSURES.values() for predicate in predicates}
    assert {predicate for predicates in REQUIRES.values() for predicate in predicates} <= promised


def test_what_is_outside_kernels_is_not_looked_at() -> None:
    function = "func.func @f(%a: tensor<4xf32>) {\n  func.return\n}\n"
    for name in REQUIRES:
        assert tileopt("-p", name, "--target", "sm_80", stdin=function).code == 0
