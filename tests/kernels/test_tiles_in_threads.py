"""Tiles in kernels of threads: from shared memory, through products, back; against NumPy in float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Array, Device

from tileopt import simt, tile
from tileopt.dialects import gpu_wgmma
from tileopt.dialects import simt as simt_ops
from tileopt.dialects.simt_thread import ElementStore
from tileopt.dialects.verifier import walk
from tileopt.dialects.xdsl_compat import create_context, parse_module

TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_120a"]


def fill(part, source, row, column, rank, threads):  # type: ignore[no-untyped-def]
    """The threads copy a part of a matrix into shared memory, zeros where there is none."""
    for e in range(rank, part.shape[0] * part.shape[1], threads):
        i, j = e // part.shape[1], e % part.shape[1]
        inside = row + i < len(source) and column + j < source.shape[1]
        part[i, j] = source[row + i, column + j] if inside else part.dtype(0)


def product_kernel(threads: int) -> Any:
    @simt.kernel(block=threads, grid_rank=2)
    def k(
        a: simt.Slice,
        b: simt.Slice,
        c: simt.DisjointSlice,
        BM: simt.Const,
        BN: simt.Const,
        BK: simt.Const,
    ):
        left, right = simt.shared((BM, BK), a.dtype), simt.shared((BK, BN), b.dtype)
        rank, row, column = simt.thread_rank(), simt.block_idx(1) * BM, simt.block_idx(0) * BN
        acc = tile.zeros((BM, BN), c.dtype)
        for k in range(0, a.shape[1], BK):
            fill(left, a, row, k, rank, threads)
            fill(right, b, k, column, rank, threads)
            acc = tile.mma(tile.load(left), tile.load(right), acc)
        tile.store(c, (simt.block_idx(1), simt.block_idx(0)), acc)

    return k


PRODUCTS = {threads: product_kernel(threads) for threads in (32, 128, 256)}
TYPES = {
    "float16": ("float32", 1e-3),
    "bfloat16": ("float32", 1e-2),
    "float32": ("float32", 1e-5),
    "float64": ("float64", 1e-12),
    "int8": ("int32", 0.0),
}


def matrices(rng: np.random.Generator, name: str, m: int, n: int, k: int) -> tuple[Array, Array]:
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    if dtype.kind == "i":
        return rng.integers(-100, 100, (m, k)).astype(dtype), rng.integers(-100, 100, (k, n)).astype(dtype)
    return rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(("threads", "blocks"), [(32, (16, 8, 16)), (128, (64, 64, 32)), (256, (48, 40, 24))])
def test_products(
    device: Device, rng: np.random.Generator, name: str, threads: int, blocks: tuple[int, int, int]
) -> None:
    bm, bn, bk = blocks
    m, n, k = 2 * bm - 3, bn + 5, 2 * bk + 1
    a, b = matrices(rng, name, m, n, k)
    acc, tolerance = TYPES[name]
    c = device.empty((m, n), acc)
    PRODUCTS[threads][2, 2](device.put(a), device.put(b), c, *blocks)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(device.get(c), expected, rtol=tolerance, atol=tolerance * 10)


@simt.kernel(block=(16, 8))
def through_shared(x: simt.Slice["f32", 2], out: simt.DisjointSlice["f32", 2], rounds: int):
    """Threads and tiles in turn on one array: what each writes, the other reads, in every round of a loop."""
    part = simt.shared((8, 16))
    i, j = simt.thread_idx(1), simt.thread_idx(0)
    row, column = simt.thread_index_2d()
    inside = row < len(out) and column < out.shape[1]
    part[i, j] = x[row, column] if inside and row < len(x) and column < x.shape[1] else simt.f32(0.0)
    for r in range(rounds):
        t = tile.load(part)
        tile.store(part, t - tile.sum(t, axis=1, keepdims=True) * 0.0625)
        turned = part[7 - i, (j + r) % 16]  # of another thread
        simt.barrier()
        part[i, j] = turned * 0.5
        if simt.thread_rank() == 5:
            part[i, j] = 1.0
    whole = tile.load(part).max()
    if inside:
        out[row, column] = part[i, j] + whole


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_threads_and_tiles_in_turn(device: Device, rng: np.random.Generator, rounds: int) -> None:
    x = rng.standard_normal((21, 37)).astype(np.float32)
    out = device.empty(x.shape, np.float32)
    through_shared[3, 3](device.put(x), out, rounds)
    padded = np.pad(x.astype(np.float64), ((0, 3), (0, 11)))
    expected = np.zeros_like(padded)
    for bi in range(0, 24, 8):
        for bj in range(0, 48, 16):
            part = padded[bi : bi + 8, bj : bj + 16]
            for r in range(rounds):
                part = part - part.sum(1, keepdims=True) * 0.0625
                part = np.roll(part[::-1], -r, axis=1) * 0.5
                part[0, 5] = 1.0
            expected[bi : bi + 8, bj : bj + 16] = part + part.max()
    np.testing.assert_allclose(device.get(out), expected[:21, :37], rtol=1e-4, atol=1e-5)


@simt.kernel(block=64, shared_bytes=4 * 30 * 7)
def dynamic(x: simt.Slice["f32", 2], out: simt.DisjointSlice["f32", 2]):
    """Any extents, in dynamic shared memory; arithmetic, reductions and maps on tiles."""
    part = simt.dynamic_shared((30, 7))
    rank = simt.thread_rank()
    for e in range(rank, 210, 64):
        part[e // 7, e % 7] = x[e // 7, e % 7]
    t = tile.load(part)
    t = tile.where(t > t.sum(axis=0, keepdims=True), t.T.reshape((30, 7)), -t)
    tile.store(part, tile.map_simt(lambda v: simt.warp_reduce(v, "max") + v, t, axis=0, padding="-inf"))
    for e in range(rank, 210, 64):
        out[e // 7, e % 7] = part[e // 7, e % 7]


def test_dynamic_memory_and_other_ops(device: Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((30, 7)).astype(np.float32)
    out = device.empty(x.shape, np.float32)
    dynamic[1](device.put(x), out)
    wide = x.astype(np.float64)
    t = np.where(wide > wide.sum(0, keepdims=True), wide.T.reshape(30, 7), -wide)
    np.testing.assert_allclose(device.get(out), t + t.max(0, keepdims=True), rtol=1e-5, atol=1e-5)


@simt.kernel(block=128)
def uniform(x: simt.Slice, out: simt.DisjointSlice, n: int):
    """Work on tiles under conditions that are the same for all threads: of an argument, of the block, of a tile."""
    part = simt.shared(128)
    i, rank = simt.thread_index(), simt.thread_rank()
    part[rank] = x[i] if i < len(x) else simt.f32(0.0)
    if n > 3 and simt.block_idx() != 1:
        t = tile.load(part)
        while t.max() > 1.0:
            t = t * 0.5
        tile.store(part, t)
    simt.barrier()
    if i < len(out):
        out[i] = part[127 - rank]


@pytest.mark.parametrize("n", [3, 4])
def test_conditions_of_the_block(device: Device, rng: np.random.Generator, n: int) -> None:
    x = (rng.standard_normal(500) * 9).astype(np.float32)
    out = device.empty(500, np.float32)
    uniform[4](device.put(x), out, n)
    blocks = np.pad(x, (0, 12)).reshape(4, 128).copy()
    for index, block in enumerate(blocks):
        while n > 3 and index != 1 and block.max() > 1:
            block *= np.float32(0.5)
    np.testing.assert_array_equal(device.get(out), blocks[:, ::-1].ravel()[:500])


@simt.kernel(block=64)
def both_kinds_of_stores(x: simt.Slice, out: simt.DisjointSlice):
    """A block's tile and its threads' elements of one array in global memory."""
    i, b = simt.thread_index(), simt.block_idx()
    tile.store(out, b, tile.load(x, b, 64) * 2.0)
    if i < len(out):
        out[i] += 1.0
    tile.store(out, b, tile.load(out, b, 64) + tile.load(out, b, 64).sum())


def test_elements_and_tiles_of_one_array(device: Device, rng: np.random.Generator) -> None:
    x = rng.integers(-20, 20, 150).astype(np.float32)
    out = device.empty(150, np.float32)
    both_kinds_of_stores[3](device.put(x), out)
    once = x * 2 + 1
    sums = np.pad(once, (0, 42)).reshape(3, 64).sum(1)
    np.testing.assert_array_equal(device.get(out), once + sums.repeat(64)[:150])


@simt.kernel(block=64)
def uneven(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    """Beside tiles, meetings of lanes that some warps skip, or come to more often."""
    part = simt.shared(64)
    i, rank = simt.thread_index(), simt.thread_rank()
    v = x[i] if i < len(x) else simt.f32(0.0)
    if rank < 32:
        v = simt.warp_reduce(v)
    n = 0
    while simt.any_sync(v > 1.0):
        v, n = v * 0.5, n + 1
    part[rank] = v
    t = tile.load(part)
    tile.store(part, t + t.sum())
    if rank < 32:
        v = simt.shuffle_xor(v, 1)
    if i < len(out):
        out[i] = part[63 - rank] + v + simt.f32(n)


def test_warps_that_go_their_own_ways(device: Device, rng: np.random.Generator) -> None:
    x = rng.uniform(0, 9, 200).astype(np.float32)
    out = device.empty(200, np.float32)
    uneven[4](device.put(x), out)
    expected = []
    for block in np.pad(x.astype(np.float64), (0, 56)).reshape(4, 64):
        block[:32], counts = block[:32].sum(), np.zeros(64)
        for warp in (slice(0, 32), slice(32, 64)):
            while (block[warp] > 1).any():
                block[warp] *= 0.5
                counts[warp] += 1
        exchanged = np.concatenate([block[:32].reshape(16, 2)[:, ::-1].ravel(), block[32:]])
        expected.append((block + block.sum())[::-1] + exchanged + counts)
    np.testing.assert_allclose(device.get(out), np.ravel(expected)[:200], rtol=1e-4, atol=1e-4)


# What GPUs make of it, on a model of theirs


MODELS = ["model:sm_80", "model:sm_90a", "model:sm_120a"]


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize(("m", "n", "k"), [(70, 130, 45), (128, 128, 64)])
def test_products_by_tensor_cores(rng: np.random.Generator, target: str, m: int, n: int, k: int) -> None:
    a, b = matrices(rng, "float16", m, n, k)
    c = np.full((m, n), np.nan, np.float32)
    PRODUCTS[128][-(-n // 64), -(-m // 64)](a, b, c, 64, 64, 32, target=target)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("target", MODELS)
def test_the_same_as_on_a_cpu(rng: np.random.Generator, target: str) -> None:
    x = rng.integers(-20, 20, (21, 37)).astype(np.float32)
    results = []
    for where in ("cpu", target):
        out = np.full(x.shape, np.nan, np.float32)
        through_shared[3, 3](x, out, 3, target=where)
        results.append(out)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-6, atol=1e-6)


# Every architecture's code


@pytest.mark.parametrize("target", TARGETS)
def test_kernels_assemble(target: str) -> None:
    kernels = [
        PRODUCTS[128].compile(target, a="f16[?,?]", b="f16[?,?]", c="f32[?,?]", BM=64, BN=64, BK=32, grid_rank=2),
        PRODUCTS[32].compile(target, a="i8[?,?]", b="i8[?,?]", c="i32[?,?]", BM=16, BN=8, BK=32, grid_rank=2),
        through_shared.compile(target, x="f32[?,?]", out="f32[?,?]", rounds="i64"),
        dynamic.compile(target, x="f32[?,?]", out="f32[?,?]"),
        uniform.compile(target, x="f32[?]", out="f32[?]", n="i64"),
        both_kinds_of_stores.compile(target, x="f32[?]", out="f32[?]"),
        uneven.compile(target, x="f32[?]", out="f32[?]"),
    ]
    for kernel in kernels:
        assert len(kernel.cubin) > 1000 and ".extern .func" not in kernel.ptx
        assert kernel.report["spill_stores"] == 0
    family = "wgmma_m64n64k16_f16_f32" if target == "sm_90a" else "mma_m16n8k16_f16_f32"
    assert kernels[0].report["atoms"] == [family]
    assert kernels[1].report["atoms"] == ["mma_m16n8k32_i8_i32"]
    # Two barriers an iteration: before the threads write, and before the product reads.
    assert kernels[0].report["barriers"] == 2


def test_a_warpgroup_reads_the_threads_arrays_in_place() -> None:
    compiled = PRODUCTS[128].compile(
        "sm_90a", a="f16[?,?]", b="f16[?,?]", c="f32[?,?]", BM=64, BN=64, BK=32, grid_rank=2
    )
    module = parse_module(create_context(), compiled.ir("simt"), "kernel")
    (product,) = (op for op in walk(module) if isinstance(op, gpu_wgmma.Wgmma))
    arrays = {op.mem for op in walk(module) if isinstance(op, ElementStore)}
    assert {product.operands[0], product.operands[1]} == arrays
    assert sum(isinstance(op, simt_ops.AllocShared) for op in walk(module)) == 2
