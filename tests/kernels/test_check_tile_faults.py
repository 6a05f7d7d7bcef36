"""Faults planted in tile kernels, whose barriers and proofs are the compiler's, and what "cpu-check" says of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from planted import Change, drop, finds, pipeline, prove_all
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, i32

import tileopt
from tileopt import tile
from tileopt.dialects import simt


@pytest.fixture(autouse=True)
def checking() -> Any:
    tileopt.set_default_target("cpu-check")
    yield
    tileopt.set_default_target(None)


def floats(*shape: int) -> Any:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


@tile.kernel
def product(a: tile.In, b: tile.In, c: tile.Out):
    acc = tile.zeros((32, 32))
    for k in range(tile.cdiv(a.shape[1], 16)):
        left = tile.load(a, (tile.bid(0), k), (32, 16))  # there
        right = tile.load(b, (k, tile.bid(1)), (16, 32))
        acc = tile.mma(left, right, acc)  # here
    tile.store(c, (tile.bid(0), tile.bid(1)), acc)


@tile.kernel
def two_products(a: tile.In, c: tile.Out):
    x = tile.load(a, (0, 0), (16, 16))
    y = tile.mma(x, x)
    z = tile.mma(y, x)
    tile.store(c, (0, 0), z)


@tile.kernel
def scattered(x: tile.In, at: tile.In, out: tile.Out):
    i = tile.bid(0)
    tile.store(tile.unchecked(out), tile.item(tile.load(at, i, 1)), tile.load(x, i, 32))  # here, there


@tile.kernel
def tile_by_two_blocks(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    tile.store(out, i // 2, tile.load(x, i, 32))  # here, there


@tile.kernel
def tile_of_the_next_block(x: tile.InOut):
    i = tile.bid(0)
    following = tile.load(x, i + 1, 32)  # there
    tile.store(x, i, following)  # here


@tile.kernel
def through_the_array(x: tile.In, y: tile.InOut, out: tile.Out):
    tile.store(y, (0, 0), tile.load(x, (0, 0), (8, 16)))  # there
    z = tile.load(y, (0, 0), (16, 8))  # here
    tile.store(out, (0, 0), z)


@tile.kernel
def load_beyond(x: tile.In["f32", 2], out: tile.Out["f32", 2]):  # there
    i = tile.bid(0)
    v = tile.load(x, (i, 0), (8, 64))  # here
    tile.store(out, (i, 0), v)


@tile.kernel
def store_before(x: tile.In, out: tile.Out):  # there
    i = tile.bid(0)
    tile.store_at(out, 32 * i - 8, tile.load(x, i, 32))  # here


@tile.kernel
def square(a: tile.In, c: tile.Out):
    x = tile.load(a, (0, 0), (16, 16))  # there
    tile.store(c, (0, 0), tile.mma(x, x))  # here


def some_threads(kernel: simt.Kernel) -> None:
    """Puts the first barrier under a condition that half of the threads fulfil."""
    barrier = next(op for op in kernel.walk() if isinstance(op, simt.Barrier))
    load = next(op for op in kernel.walk() if isinstance(op, simt.FragmentLoad))
    block = barrier.parent
    assert block is not None
    thread = simt.ThreadId.create(result_types=[i32])
    bound = arith.ConstantOp(IntegerAttr(16, i32))
    few = arith.CmpiOp(thread.result, bound.result, "slt")  # type: ignore[attr-defined]
    branch = scf.IfOp(few.result, [], [scf.YieldOp()], [scf.YieldOp()])
    branch.location = load.location
    block.insert_ops_before([thread, bound, few, branch], barrier)
    barrier.detach()
    inner = branch.true_region.block
    assert inner.last_op is not None
    inner.insert_op_before(barrier, inner.last_op)


def run_product(k: Any) -> None:
    k[2, 2](floats(40, 50), floats(50, 40), np.empty((40, 40), np.float32))


CASES: dict[str, tuple[str, Any, dict[str, Any], Callable[[Any], None], tuple[str, ...]]] = {
    "two blocks store a tile where nobody proved that they do not": (
        "race/between-blocks",
        scattered,
        {},
        lambda k: k[4](floats(128), np.array([2, 0, 3, 2], np.int64), np.empty(128, np.float32)),
        ("of block (0, 0, 0) writes out[64]", "of block (3, 0, 0) writes it"),
    ),
    "two blocks store a tile": (
        "race/between-blocks",
        tile_by_two_blocks,
        {"without": ("verify-ownership",)},
        lambda k: k[4](floats(128), np.empty(64, np.float32)),
        ("of block (0, 0, 0) writes out[0]", "of block (1, 0, 0) writes it"),
    ),
    "a block stores what another loads": (
        "race/between-blocks",
        tile_of_the_next_block,
        {"without": ("verify-ownership",)},
        lambda k: k[4](floats(100)),
        ("of block (0, 0, 0) reads x[32]", "of block (1, 0, 0) writes it"),
    ),
    "no barrier after the copy to shared memory": (
        "race/missing-barrier",
        product,
        {"insert_fences": drop(simt.Barrier, lambda n: n == 1)},
        run_product,
        ("in block (0, 0, 0), with no barrier between",),
    ),
    "no barrier before the next iteration's copy": (
        "race/missing-barrier",
        product,
        {"insert_fences": drop(simt.Barrier, lambda n: n == 0)},
        run_product,
        ("in block (0, 0, 0), with no barrier between",),
    ),
    "no barrier between a store and a load of an array": (
        "race/missing-barrier",
        through_the_array,
        {"insert_fences": drop(simt.Barrier)},
        lambda k: k[1](floats(8, 16), floats(16, 16), floats(16, 8)),
        ("y[",),
    ),
    "nothing copied to shared memory": (
        "memory/uninitialised",
        square,
        {"insert_fences": drop(simt.SharedStore)},
        lambda k: k[1](floats(16, 16), np.empty((16, 16), np.float32)),
        ("which no thread of the block has written",),
    ),
    "a load that is proved by mistake": (
        "bounds/out-of-range",
        load_beyond,
        {"elide_bounds": prove_all},
        lambda k: k[2](floats(16, 60), np.empty((16, 64), np.float32)),
        ("index 63 on axis 1 of 'x', whose length is 60", "the compiler took it to be inside: by mistake"),
    ),
    "a store that is proved by mistake": (
        "bounds/out-of-range",
        store_before,
        {"elide_bounds": prove_all},
        lambda k: k[2](floats(64), np.empty(64, np.float32)),
        ("index -8 of 'out', whose length is 64", "of block (0, 0, 0)"),
    ),
    "half of the threads come to a barrier": (
        "race/divergent-barrier",
        square,
        {"insert_fences": some_threads},
        lambda k: k[1](floats(16, 16), np.empty((16, 16), np.float32)),
        ("thread (0, 0, 0) of block (0, 0, 0) waits", "thread (16, 0, 0) has ended"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_planted_fault(name: str) -> None:
    code, kernel, changes, launch, words = CASES[name]
    fresh = tile.kernel(kernel.function)  # compiled anew, by this pipeline
    with pipeline(**changes):
        finds(code, kernel, lambda: launch(fresh), *words)


def test_scattered_tiles_may_be_right() -> None:
    x, out = floats(128), np.zeros(128, np.float32)
    scattered[4](x, np.array([2, 0, 3, 1], np.int64), out)
    np.testing.assert_array_equal(out.reshape(4, 32), x.reshape(4, 32)[[1, 3, 0, 2]])


@pytest.mark.parametrize("kernel", [product, two_products, through_the_array, square], ids=lambda k: k.name)
def test_every_barrier_is_needed(kernel: Any) -> None:
    """Without faults the kernels are right; without any one of their barriers they race."""
    arguments: dict[str, Callable[[], tuple[Any, ...]]] = {
        "product": lambda: (floats(32, 50), floats(50, 32), np.empty((32, 32), np.float32)),
        "two_products": lambda: (floats(16, 16), np.empty((16, 16), np.float32)),
        "through_the_array": lambda: (floats(8, 16), floats(16, 16), floats(16, 8)),
        "square": lambda: (floats(16, 16), np.empty((16, 16), np.float32)),
    }
    count = 0

    def counting(found: simt.Kernel) -> None:
        nonlocal count
        count = sum(isinstance(op, simt.Barrier) for op in found.walk())

    def launch(change: Change) -> None:
        with pipeline(insert_fences=change):
            tile.kernel(kernel.function)[1](*arguments[kernel.name]())

    launch(counting)
    assert count
    for number in range(count):
        with pytest.raises(tileopt.CheckError, match="race/missing-barrier"):
            launch(drop(simt.Barrier, lambda n, number=number: n == number))  # type: ignore[misc]
