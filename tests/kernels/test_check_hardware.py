"""The target "cpu-check" on the hardware's own ops: what barriers in memory, copies and matrices order and touch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from planted import finds, pipeline

import tileopt
from tileopt import simt

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "simt"))

from cluster_ring import ring_sum
from matrix_transpose import matrix_transpose
from tensor_core_product import tensor_core_product
from tma_pipeline import column_sums


@pytest.fixture(autouse=True)
def checking() -> Iterator[None]:
    tileopt.set_default_target("cpu-check")
    yield
    tileopt.set_default_target(None)


def random(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(4).standard_normal(shape).astype(dtype)


BF16 = ml_dtypes.bfloat16
RIGHT: list[tuple[Any, Any, Callable[[], tuple[Any, ...]]]] = [
    (column_sums, 2, lambda: (random(150, 128), np.zeros(128, np.float32))),
    (ring_sum, 8, lambda: (random(500).astype(np.int32), np.zeros(500, np.int32))),
    (
        tensor_core_product,
        (2, 2),
        lambda: (random(100, 72, dtype=BF16), random(72, 56, dtype=BF16), np.zeros((100, 56), np.float32)),
    ),
    (matrix_transpose, (2, 3), lambda: (random(33, 20, dtype=np.float16), np.zeros((20, 33), np.float16))),
]


@pytest.mark.parametrize(("kernel", "grid", "arguments"), RIGHT, ids=lambda k: getattr(k, "name", ""))
def test_a_right_kernel(kernel: Any, grid: Any, arguments: Callable[[], tuple[Any, ...]]) -> None:
    plain, checked = arguments(), arguments()
    kernel[grid](*plain, target="cpu")
    kernel[grid](*checked)
    for a, b in zip(plain, checked, strict=True):
        np.testing.assert_array_equal(a, b)


# --- barriers in memory --------------------------------------------------------------------------------------------


@simt.kernel(block=64)
def handed_over(x: simt.Slice["i32"], out: simt.DisjointSlice["i32"], FREE: simt.Const[bool]):
    """A warp fills a ring of two places, another empties it; `FREE`: the first waits until a place is free."""
    ring = simt.shared((2, 32), "i32")
    full, free = simt.shared(2, "i64"), simt.shared(2, "i64")
    t, lane = simt.thread_rank(), simt.lane_index()
    if t == 0:
        for stage in simt.static_range(2):
            simt.mbarrier_init(full, stage, 32)
            simt.mbarrier_init(free, stage, 32)
        simt.mbarrier_fence()
    simt.barrier()
    total = simt.i32(0)
    for turn in range(3):
        for stage in simt.static_range(2):
            if t < 32:
                if FREE and turn > 0:
                    while not simt.mbarrier_try_wait(free, stage, turn - 1):
                        pass
                ring[stage, lane] = x[lane] + simt.i32(turn)  # here
                simt.mbarrier_arrive(full, stage)
            else:
                simt.mbarrier_wait(full, stage, turn)
                total += ring[stage, simt.i64(x[lane])]  # there
                simt.mbarrier_arrive(free, stage)
    out[simt.thread_index()] = total


def test_a_ring_between_warps() -> None:
    x, result = np.random.default_rng(1).permutation(32).astype(np.int32), np.zeros(64, np.int32)
    handed_over[1](x, result, True)
    np.testing.assert_array_equal(result[32:], 6 * x[x] + 6)
    finds("race/missing-barrier", handed_over, lambda: handed_over[1](x, result, False), "ring[")


@simt.kernel(block=64)
def not_made_known(out: simt.DisjointSlice["i32"]):
    bar = simt.shared(1, "i64")
    if simt.thread_rank() == 0:
        simt.mbarrier_init(bar, 0, 64)  # here
        simt.mbarrier_fence()
    simt.mbarrier_arrive(bar, 0)  # there
    simt.mbarrier_wait(bar, 0, 0)
    out[simt.thread_index()] = 1


def test_a_barrier_that_is_made_too_late() -> None:
    finds("race/missing-barrier", not_made_known, lambda: not_made_known[1](np.zeros(64, np.int32)), "bar[0]")


# --- bulk copies ---------------------------------------------------------------------------------------------------


@simt.kernel(block=64)
def tile_sums(
    x: simt.Slice["f32", 2], out: simt.DisjointSlice["f32"], WAITS: simt.Const[bool], MEETS: simt.Const[bool]
):
    tile = simt.shared((16, 64))
    full = simt.shared(1, "i64")
    t = simt.thread_rank()
    if t == 0:
        simt.mbarrier_init(full, 0, 1)
        simt.mbarrier_fence()
    simt.barrier()
    total = 0.0
    for turn in range(2):
        if t == 0:
            simt.mbarrier_arrive_expect_tx(full, 0, 16 * 64 * 4)
            simt.tma_load(x, (16 * turn, 0), tile, full, 0)  # here
        if WAITS:
            simt.mbarrier_wait(full, 0, turn)
        for row in range(16):
            total += tile[row, t]  # there
        if MEETS:
            simt.barrier()
    out[simt.thread_index()] = total


@pytest.mark.parametrize(("waits", "meets"), [(False, True), (True, False)])
def test_a_tile_that_a_copy_brings(waits: bool, meets: bool) -> None:
    x, result = random(32, 64), np.zeros(64, np.float32)
    tile_sums[1](x, result, True, True)
    np.testing.assert_allclose(result, x.astype(np.float64).sum(0), rtol=0, atol=1e-4)
    fresh = simt.kernel(block=64)(tile_sums.function)
    with pipeline(without=("verify-barriers",)):
        finds(
            "race/missing-barrier",
            tile_sums,
            lambda: fresh[1](x, result, waits, meets),
            "a bulk copy",
            "tile[",
            "mbarrier_wait",
        )


@simt.kernel(block=64)
def tile_leaves(x: simt.Slice["f32"], out: simt.DisjointSlice["f32", 2], WAITS: simt.Const[bool]):
    tile = simt.shared((16, 64))
    t = simt.thread_rank()
    for row in range(16):
        tile[row, t] = x[t]
    simt.fence_proxy_async()
    simt.barrier()
    if t == 0:
        simt.tma_store(tile, out, (16 * simt.block_idx(), 0))  # here
        simt.tma_commit()
        if WAITS:
            simt.tma_wait(0)
        tile[0, 0] = 0.0  # there


def test_a_tile_that_a_copy_takes_away() -> None:
    x, result = random(64), np.zeros((16, 64), np.float32)
    tile_leaves[1](x, result, True)
    np.testing.assert_array_equal(result, np.tile(x, (16, 1)))
    with pipeline(without=("verify-barriers",)):
        finds("race/missing-barrier", tile_leaves, lambda: tile_leaves[1](x, result, False), "tma_wait", "tile[0, 0]")


# --- matrices ------------------------------------------------------------------------------------------------------


@simt.kernel(block=32)
def block_of_words(at: simt.Slice["i32"], out: simt.DisjointSlice["u32"], MEETS: simt.Const[bool]):
    s = simt.shared((8, 8), "f16")
    lane = simt.lane_index()
    s[simt.i64(at[lane]) // 8, simt.i64(at[lane]) % 8] = simt.f16(lane)  # here
    s[4 + simt.i64(at[lane]) // 8, simt.i64(at[lane]) % 8] = simt.f16(lane)
    if MEETS:
        simt.syncwarp()
    (word,) = simt.ldmatrix(s, (lane % 8, 0))  # there
    out[simt.thread_index()] = word


@simt.kernel(block=32)
def half_of_a_block(at: simt.Slice["i32"], out: simt.DisjointSlice["u32"]):
    s = simt.shared((8, 8), "f16")  # there
    lane = simt.lane_index()
    s[simt.i64(at[lane]) // 8, simt.i64(at[lane]) % 8] = simt.f16(lane)
    simt.syncwarp()
    (word,) = simt.ldmatrix(s, (lane % 8, 0))  # here
    out[simt.thread_index()] = word


def test_matrices_in_shared_memory() -> None:
    at, words = np.arange(32, dtype=np.int32)[::-1].copy(), np.zeros(32, np.uint32)
    block_of_words[1](at, words, True)
    np.testing.assert_array_equal(words.view(np.float16), np.tile(np.arange(32)[::-1], 2))
    finds("race/missing-barrier", block_of_words, lambda: block_of_words[1](at, words, False), "s[")
    finds("memory/uninitialised", half_of_a_block, lambda: half_of_a_block[1](at, words), "s[4, 0]")


# --- barriers of some warps ----------------------------------------------------------------------------------------


@simt.kernel(block=128)
def warps_meet(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"], BOTH: simt.Const[int]):
    s = simt.shared(128, "i32")
    t = simt.thread_rank()
    s[simt.i64(at[t])] = simt.i32(t)  # here
    if t < 64:
        simt.named_barrier(1, 64)
    else:
        simt.named_barrier(2, 64)
    out[simt.thread_index()] = s[simt.i64(at[t ^ BOTH])]  # there


def test_barriers_of_some_warps() -> None:
    at, result = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
    warps_meet[1](at, result, 33)
    np.testing.assert_array_equal(result, at ^ 33)
    finds("race/missing-barrier", warps_meet, lambda: warps_meet[1](at, result, 64), "s[")
