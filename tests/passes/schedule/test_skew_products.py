"""Loops whose second products run an iteration late, and loops cut where their masks begin, compute what they did.

The random kernels of `test_roles` with split-loops and skew-products behind them; a masked chain, as in attention, for
all ways in which the mask may lie.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_interpreter import interpret
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from tileopt.dialects import pipe, tile
from tileopt.dialects.verifier import verify, walk
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.registry import pass_class
from tileopt.passes.schedule.split_loops import LIMIT, REST

sys.path.insert(0, str(Path(__file__).parent))

from test_roles import ACC, CONTRACT, GRID, OWNED, PASSES, SHARED, SMALL, TALL, M, S, arrays, both

LATER = ("split-loops", "skew-products")


def run(module: ModuleOp, names: tuple[str, ...]) -> ModuleOp:
    for name in names:
        found = pass_class(name)
        assert found is not None
        found().apply(create_context(), module)
        verify(module)
    return module


@cache
def skewed(seed: int) -> tuple[ModuleOp, ModuleOp]:
    before, after = both(seed)
    return before, run(after.clone(), LATER)


def has_late_product(module: ModuleOp) -> bool:
    """Whether some loop carries a tile of 16-bit elements: what a late product takes."""
    loops = (op for op in walk(module) if isinstance(op, scf.ForOp))
    return any(str(value.type) == TALL for loop in loops for value in loop.results)


@settings(max_examples=60)
@given(
    st.integers(0, 400), st.integers(0, 5), st.integers(0, 3), st.sampled_from([1, 3]), st.sampled_from([0.0, 0.5, 1.0])
)
def test_random_kernels(seed: int, n: int, m: int, blocks: int, eagerness: float) -> None:
    before, after = skewed(seed)
    if not any(isinstance(op, pipe.Roles) for op in walk(after)):
        return
    expected, found = arrays(seed), arrays(seed)
    for i, j in np.ndindex(GRID[:2]):
        interpret(before, *expected, n, m, ids=(i, j, 0), grid=GRID)
    for block in range(blocks):
        how = {"grid": GRID, "physical": (block, blocks), "eagerness": eagerness, "seed": seed}
        interpret(after, *found, n, m, **how)
    np.testing.assert_array_equal(found[3], expected[3])


def test_chains_are_skewed() -> None:
    assert sum(has_late_product(skewed(seed)[1]) for seed in range(60)) >= 10


MASKED = f"""module attributes {{tile.target = "sm_90a"}} {{
tile.kernel @f(%x: {SHARED} {CONTRACT}, %y: {SHARED} {CONTRACT}, %w: {SHARED} {CONTRACT}, %out: {OWNED}, %n: i64,
    %top: i64, %first: i64) attributes {{tile.num_warps = 4 : i64, tile.num_stages = 2 : i64}} {{
%c0 = arith.constant 0 : i64
%c1 = arith.constant 1 : i64
%cs = arith.constant {S} : i64
%f = arith.constant 0.0 : f32
%h = arith.constant 1.0 : f32
%zero = tile.splat %f : f32 -> {ACC}
%one = tile.splat %h : f32 -> {ACC}
%bi = tile.bid {{axis = 0 : i64}}
%rows = arith.constant {M} : i64
%ro = arith.muli %bi, %rows : i64
%q = tile.load %x[%ro, %c0] {{vector = 8 : i64}} : {SHARED} -> {TALL}
%r = scf.for %j = %first to %n step %c1 iter_args(%acc = %zero) -> ({ACC}) : i64 {{
  %at = arith.muli %j, %cs : i64
  %k = tile.load %y[%at, %c0] {{vector = 8 : i64}} : {SHARED} -> {SMALL}
  %s = tile.mma %q, %k, %zero : {TALL}, {SMALL}, {ACC} -> {ACC}
  %a = tile.arange : tensor<{S}xi64>
  %b = tile.splat %at : i64 -> tensor<{S}xi64>
  %c = arith.addi %b, %a : tensor<{S}xi64>
  %d = tile.reshape %c : tensor<{S}xi64> -> tensor<1x{S}xi64>
  %e = tile.broadcast %d : tensor<1x{S}xi64> -> tensor<{M}x{S}xi64>
  %t = tile.splat %top : i64 -> tensor<{M}x{S}xi64>
  INSIDE
  %m = arith.select %inside, %s, %one : tensor<{M}x{S}xi1>, {ACC}
  %p = arith.truncf %m : {ACC} to {TALL}
  %v = tile.load %w[%at, %c0] {{vector = 8 : i64}} : {SHARED} -> {SMALL}
  %o = tile.mma %p, %v, %acc : {TALL}, {SMALL}, {ACC} -> {ACC}
  scf.yield %o : {ACC}
}}
tile.store %r, %out[%ro, %c0] : {ACC}, {OWNED}
tile.return
}}
}}"""
# What each mask says of columns %e and a limit %t, and the comparisons that are left in each of its loops.
UP_TO = {"slt": "slt, %e, %t", "sle": "sle, %e, %t", "sgt": "sgt, %t, %e", "sge": "sge, %t, %e"}
FROM = {"from slt": "slt, %t, %e", "from sle": "sle, %t, %e", "from sgt": "sgt, %e, %t", "from sge": "sge, %e, %t"}
COMPARED = dict.fromkeys(UP_TO, [0, 1]) | dict.fromkeys(FROM, [1, 0]) | {"window": [2, 0, 2]}
PREDICATES = list(COMPARED)


def inside(predicate: str) -> str:
    """The ops of a mask; a window goes from 20 columns before the limit up to it."""
    tile = f"tensor<{M}x{S}xi64>"
    if predicate != "window":
        return f"%inside = arith.cmpi {(UP_TO | FROM)[predicate]} : {tile}"
    return f"""%wide = arith.constant dense<20> : {tile}
  %past = arith.addi %e, %wide : {tile}
  %below = arith.cmpi sle, %e, %t : {tile}
  %above = arith.cmpi sgt, %past, %t : {tile}
  %inside = arith.andi %below, %above : tensor<{M}x{S}xi1>"""


@cache
def masked(predicate: str) -> tuple[ModuleOp, ModuleOp]:
    before = parse_module(create_context(), MASKED.replace("INSIDE", inside(predicate)))
    verify(before)
    return before, run(before.clone(), (*PASSES, *LATER))


@pytest.mark.parametrize("predicate", PREDICATES)
def test_the_mask_is_out_of_one_loop(predicate: str) -> None:
    (roles,) = (op for op in walk(masked(predicate)[1]) if isinstance(op, pipe.Roles))
    loops = [op for op in roles.consumers.walk() if isinstance(op, scf.ForOp) and _products(op)]
    inner = [op for op in loops if not any(op is not other and op.is_ancestor(other) for other in loops)]
    compared = [sum(op.name == "arith.cmpi" for op in loop.walk()) for loop in inner]
    assert compared == COMPARED[predicate]
    assert [REST in loop.attributes for loop in inner] == [count > 0 for count in compared]


def _products(loop: scf.ForOp) -> int:
    return sum(isinstance(op, tile.Mma) for op in loop.walk())


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize(("first", "n"), [(0, 0), (0, 1), (0, 4), (1, 4), (2, 3), (3, 2)])
@pytest.mark.parametrize("top", [-5, 0, 15, 16, 17, 33, 64, 1000, LIMIT, 2**63 - 1, -(2**63)])
def test_masks_anywhere(predicate: str, first: int, n: int, top: int) -> None:
    before, after = masked(predicate)
    rng = np.random.default_rng(n + 7)
    shapes = ((M, S), (4 * S, S), (4 * S, S), (M, S))
    expected = [rng.integers(-2, 3, shape).astype(float) for shape in shapes]
    found = [a.copy() for a in expected]
    interpret(before, *expected, n, top, first)
    interpret(after, *found, n, top, first, physical=(0, 1))
    np.testing.assert_array_equal(found[3], expected[3])
