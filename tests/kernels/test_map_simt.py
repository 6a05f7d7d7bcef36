"""`tile.map_simt`: functions of threads on tiles, against NumPy in float64, at extents that divide nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Array, Device
from python_kernels import module

import tileopt
from tileopt import simt, tile
from tileopt.dialects import simt as simt_ops
from tileopt.dialects.verifier import walk
from tileopt.dialects.xdsl_compat import create_context, parse_module

TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_120a"]


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


# One element at a time


def escape(cx, cy, limit):  # type: ignore[no-untyped-def]
    x = y = simt.f32(0.0)
    n = 0
    while n < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        n += 1
    return simt.i32(n)


@tile.kernel(fma=False)
def mandelbrot(cx: tile.In, cy: tile.In, out: tile.Out, limit: int, M: tile.Const, N: tile.Const):
    place = (tile.bid(0), 0)
    counts = tile.map_simt(escape, tile.load(cx, place, (M, N)), tile.load(cy, place, (M, N)), limit)
    tile.store(out, place, counts)


def escapes(cx: Array, cy: Array, limit: int) -> Array:
    x, y, n = np.zeros_like(cx), np.zeros_like(cy), np.zeros(cx.shape, np.int32)
    with np.errstate(all="ignore"):
        for _ in range(limit):
            inside = x * x + y * y <= 4
            x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, np.float32(2) * x * y + cy, y)
            n += inside
    return n


@pytest.mark.parametrize("shape", [(1, 1), (3, 50), (7, 129), (64, 96)])
def test_a_loop_that_each_element_leaves_when_it_likes(
    device: Device, rng: np.random.Generator, shape: tuple[int, int]
) -> None:
    cx = rng.uniform(-2, 1, (2 * shape[0] - 1, shape[1])).astype(np.float32)
    cy = rng.uniform(-1.2, 1.2, cx.shape).astype(np.float32)
    out = device.empty(cx.shape, np.int32)
    mandelbrot[(2,)](device.put(cx), device.put(cy), out, 60, *shape)
    np.testing.assert_array_equal(device.get(out), escapes(cx, cy, 60))


def mixed(a, b, c):  # type: ignore[no-untyped-def]
    total = simt.f32(a) * simt.f32(b)
    for _ in range(simt.i64(b) & 3):
        total += simt.f32(c)
    return total, b > 0, simt.where(b > 0, c, simt.f64(0.5))


@tile.kernel
def three_tiles(x: tile.In, y: tile.In, z: tile.In, p: tile.Out, q: tile.Out, r: tile.Out, SHAPE: tile.Const):
    zero = (0,) * len(SHAPE)
    a, b, c = tile.load(x, zero, SHAPE), tile.load(y, zero, SHAPE), tile.load(z, zero, SHAPE)
    d, e, f = tile.map_simt(mixed, a, b, c)
    tile.store(p, zero, d)
    tile.store(q, zero, e)
    tile.store(r, zero, f)


@pytest.mark.parametrize("shape", [(1,), (300,), (5, 33), (33, 5), (3, 5, 7), (4, 8, 64)])
def test_three_tiles_of_three_types(device: Device, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    a = rng.standard_normal(shape).astype(ml_dtypes.bfloat16)
    b = rng.integers(-60, 60, shape).astype(np.int8)
    c = rng.standard_normal(shape)
    p, q, r = device.empty(shape, np.float32), device.empty(shape, np.bool_), device.empty(shape, np.float64)
    three_tiles[(1,)](device.put(a), device.put(b), device.put(c), p, q, r, shape)
    np.testing.assert_allclose(device.get(p), a.astype(np.float64) * b + (b & 3) * c, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(device.get(q), b > 0)
    np.testing.assert_array_equal(device.get(r), np.where(b > 0, c, 0.5))


@dataclass(frozen=True)
class Pair:
    first: Any
    second: Any


@tile.kernel
def parts(x: tile.In, out: tile.Out, n: int, K: tile.Const = 3):
    i = tile.bid(0)
    scale = tile.load(x, (0,), (1,)).item()

    def both(v):  # type: ignore[no-untyped-def]
        if v > scale:
            return Pair(v * K, 1)
        return Pair(v - simt.f32(n), 2)

    pair = tile.map_simt(both, tile.load(x, i, 100))
    nothing, ones = tile.map_simt(lambda v: (simt.block_idx(), 1.0), pair.first)
    tile.store(out, i, pair.first + tile.astype(pair.second, tile.f32) + ones + tile.astype(nothing, tile.f32))


def test_records_closures_scalars_and_constants(device: Device, rng: np.random.Generator) -> None:
    x = floats(rng, 777)
    out = device.empty(777, np.float32)
    parts[(8,)](device.put(x), out, 5)
    wide = x.astype(np.float64)
    expected = np.where(wide > wide[0], wide * 3 + 1, wide - 5 + 2) + 1 + np.arange(777) // 100
    np.testing.assert_allclose(device.get(out), expected, rtol=1e-5, atol=1e-5)


@tile.kernel
def gather(table: tile.In["f32", 2], index: tile.In, out: tile.Out, BLOCK: tile.Const):
    def look(j):  # type: ignore[no-untyped-def]
        row = table.row(j)
        total = row[0]
        for k in range(1, len(row)):
            total = simt.maximum(total, row[k])
        return total

    i = tile.bid(0)
    tile.store(out, i, tile.map_simt(look, tile.load(index, i, BLOCK)))


@pytest.mark.parametrize("block", [1, 33, 100, 1024])
def test_elements_of_input_arrays(device: Device, rng: np.random.Generator, block: int) -> None:
    table, index = floats(rng, 61, 5), rng.integers(0, 61, 1001)
    out = device.empty(1001, np.float32)
    gather[(-(-1001 // block),)](device.put(table), device.put(index), out, block)
    np.testing.assert_array_equal(device.get(out), table[index].max(1))


@tile.kernel
def guarded(table: tile.In["f32", 1], index: tile.In["i64", 1], out: tile.Out):
    def look(j):  # type: ignore[no-untyped-def]
        if 0 <= j < len(table):
            return table[j]
        return simt.f32(-1.0)

    tile.store(out, tile.bid(0), tile.map_simt(look, tile.load(index, tile.bid(0), 96)))


def test_a_guarded_element_is_proved(device: Device, rng: np.random.Generator) -> None:
    table, index = floats(rng, 50), rng.integers(-50, 100, 333)
    out = device.empty(333, np.float32)
    guarded[(4,)](device.put(table), device.put(index), out)
    expected = np.where((index >= 0) & (index < 50), table[index.clip(0, 49)], -1)
    np.testing.assert_array_equal(device.get(out), expected)
    report = guarded.compile("cpu", table="f32[?]", index="i64[?]", out="f32[?]").report
    assert any("load of table: proved" in line for line in report["bounds"])


@tile.kernel
def numbered(table: tile.In["f32", 1], out: tile.Out, COUNT: tile.Const):
    def look(j):  # type: ignore[no-untyped-def]
        total = table[j]
        while total > 1.0:
            total *= 0.5
        return total

    tile.store(out, 0, tile.map_simt(look, tile.arange(COUNT)))


@pytest.mark.parametrize("count", [1, 33, 100, 1000])
def test_what_lies_beside_a_tile_is_not_looked_up(device: Device, rng: np.random.Generator, count: int) -> None:
    table, out = rng.uniform(0, 40, count).astype(np.float32), device.empty(count, np.float32)
    numbered[(1,)](device.put(table), out, count)
    expected = table.copy()
    while (expected > 1).any():
        expected = np.where(expected > 1, expected * np.float32(0.5), expected)
    np.testing.assert_array_equal(device.get(out), expected)


POWERS = simt.constant(np.arange(10, dtype=np.float32) ** 2)


@tile.kernel
def asserted(index: tile.In, out: tile.Out):
    def look(j):  # type: ignore[no-untyped-def]
        assert j < 10, "too large"
        return POWERS[j]

    tile.store(out, tile.bid(0), tile.map_simt(look, tile.load(index, tile.bid(0), 100)))


def test_constant_arrays_and_assertions(device: Device, rng: np.random.Generator) -> None:
    index = rng.integers(0, 10, 333)
    out = device.empty(333, np.float32)
    asserted[(4,)](device.put(index), out)
    np.testing.assert_array_equal(device.get(out), index.astype(np.float32) ** 2)
    if device.name == "cpu":  # a kernel that stops may take a GPU's context along
        index[77] = 12
        with pytest.raises(tileopt.KernelAssertionError, match="too large"):
            asserted[(4,)](index, np.empty(333, np.float32))


# Lanes along an axis


def butterfly(v):  # type: ignore[no-untyped-def]
    for bit in tile.static_range(5):
        v += simt.shuffle_xor(v, 1 << bit)
    return v


def groups(x: Array, axis: int, fill: float) -> Array:
    """The array with the axis cut into groups of 32, the last one filled up; the lane is the last axis."""
    moved = np.moveaxis(x.astype(np.float64), axis, -1)
    rest = -moved.shape[-1] % 32
    padded = np.concatenate([moved, np.full((*moved.shape[:-1], rest), fill)], -1)
    return padded.reshape(*moved.shape[:-1], -1, 32)


def ungrouped(x: Array, shape: tuple[int, ...], axis: int) -> Array:
    flat = x.reshape(*x.shape[:-2], -1)[..., : shape[axis]]
    return np.moveaxis(flat, -1, axis)


def axis_kernel(warps: int) -> Any:
    @tile.kernel(num_warps=warps)
    def k(x: tile.In, out: tile.Out, SHAPE: tile.Const, AXIS: tile.Const, FN: tile.Const, PADDING: tile.Const):
        zero = (0,) * len(SHAPE)
        made = tile.map_simt(FN, tile.load(x, zero, SHAPE), axis=AXIS, padding=PADDING)
        tile.store(out, zero, made)

    return k


AXIS_KERNELS = {warps: axis_kernel(warps) for warps in (1, 4, 8)}
CASES = [((1,), 0), ((50,), 0), ((32,), 0), ((7, 50), 1), ((7, 50), 0), ((100, 3), 0), ((64, 64), -1), ((3, 40, 5), 1)]


@pytest.mark.parametrize(("shape", "axis"), CASES)
@pytest.mark.parametrize("warps", AXIS_KERNELS)
def test_a_butterfly_sum(
    device: Device, rng: np.random.Generator, shape: tuple[int, ...], axis: int, warps: int
) -> None:
    x = floats(rng, *shape)
    out = device.empty(shape, np.float32)
    AXIS_KERNELS[warps][(1,)](device.put(x), out, shape, axis, butterfly, 0)
    sums = np.broadcast_to(groups(x, axis, 0.0).sum(-1, keepdims=True), groups(x, axis, 0.0).shape)
    np.testing.assert_allclose(device.get(out), ungrouped(sums, shape, axis), rtol=1e-5, atol=1e-5)


def scan(v):  # type: ignore[no-untyped-def]
    lane = simt.lane_index()
    for bit in tile.static_range(5):
        before = simt.shuffle_up(v, 1 << bit)
        if lane >= 1 << bit:
            v += before
    return v


def greatest(v):  # type: ignore[no-untyped-def]
    return simt.warp_reduce(v, "max")


def halvings(v):  # type: ignore[no-untyped-def]
    """How often all lanes together halve until none is above 1; and by how many that was."""
    n = simt.f32(0.0)
    while simt.any_sync(v > 1.0):
        v = v * 0.5
        n += 1.0 + simt.f32(simt.popc(simt.ballot(v > 1.0)))
    return n


def halved(x: Array) -> Array:
    n = np.zeros(x.shape[:-1])
    v = x.copy()
    while (v > 1).any():
        again = (v > 1).any(-1)
        v = np.where(again[..., None], v * 0.5, v)
        n += np.where(again, 1 + (v > 1).sum(-1), 0)
    return np.broadcast_to(n[..., None], x.shape)


@pytest.mark.parametrize(("shape", "axis"), [((45,), 0), ((7, 50), 1), ((7, 50), 0), ((3, 40, 5), 1)])
@pytest.mark.parametrize(
    ("function", "padding", "expected"),
    [
        (scan, 0.0, lambda g: g.cumsum(-1)),
        (greatest, "-inf", lambda g: np.broadcast_to(g.max(-1, keepdims=True), g.shape)),
        (halvings, 0.25, halved),
    ],
    ids=["scan", "max", "loop"],
)
def test_lanes(
    device: Device,
    rng: np.random.Generator,
    shape: tuple[int, ...],
    axis: int,
    function: Any,
    padding: Any,
    expected: Any,
) -> None:
    x = (rng.standard_normal(shape) * 100 - 50).astype(np.float32)
    fill = float(padding)
    results = []
    for warps in AXIS_KERNELS:
        out = device.empty(shape, np.float32)
        AXIS_KERNELS[warps][(1,)](device.put(x), out, shape, axis, function, padding)
        results.append(device.get(out).copy())
    wanted = ungrouped(expected(groups(x, axis, fill)), shape, axis)
    np.testing.assert_allclose(results[0], wanted, rtol=1e-4, atol=1e-3)
    # The layout is the compiler's own affair: every number of warps gives the same bits.
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@tile.kernel
def weighted(x: tile.In, w: tile.In, out: tile.Out, best: tile.Out):
    def most(v, weight):  # type: ignore[no-untyped-def]
        value, lane = v * simt.f32(weight), simt.lane_index()
        for bit in tile.static_range(5):
            other, place = simt.shuffle_xor(value, 1 << bit), simt.shuffle_xor(lane, 1 << bit)
            if other > value or (other == value and place < lane):
                value, lane = other, place
        return value, lane

    i = tile.bid(0)
    value, lane = tile.map_simt(
        most, tile.load(x, (i, 0), (5, 32)), tile.load(w, (i, 0), (5, 32)), axis=1, padding=("-inf", 1)
    )
    tile.store(out, i, tile.max(value, axis=1))
    tile.store(best, (i, 0), lane)


def test_two_tiles_with_paddings_of_their_own(device: Device, rng: np.random.Generator) -> None:
    x, w = floats(rng, 13, 32), rng.integers(1, 9, (13, 32)).astype(np.int32)
    out, best = device.empty(13, np.float32), device.empty((13, 32), np.int64)
    weighted[(3,)](device.put(x), device.put(w), out, best)
    product = x * w.astype(np.float32)
    np.testing.assert_array_equal(device.get(out), product.max(1))
    np.testing.assert_array_equal(device.get(best), np.broadcast_to(product.argmax(1)[:, None], (13, 32)))


# Among other ops on tiles


def smooth(v):  # type: ignore[no-untyped-def]
    if v < 0.0:
        return simt.exp(v) - 1.0
    return v


def clipped(v, low):  # type: ignore[no-untyped-def]
    steps = 0
    while v > low and steps < 4:
        v, steps = v * 0.5, steps + 1
    return v


@tile.kernel
def through_products(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const, BN: tile.Const, BK: tile.Const):
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        left = tile.map_simt(lambda v: simt.f16(smooth(simt.f32(v))), tile.load(a, (i, k), (BM, BK)))
        acc = tile.mma(left, tile.load(b, (k, j), (BK, BN)), acc)
        acc = tile.map_simt(clipped, acc, 3.0)
    sums = tile.sum(tile.map_simt(butterfly, acc, axis=1), axis=1, keepdims=True)
    tile.store(out, (i, j), acc + sums)


@pytest.mark.parametrize("blocks", [(64, 64, 32), (32, 96, 16), (128, 64, 64)])
def test_between_products_and_reductions(
    device: Device, rng: np.random.Generator, blocks: tuple[int, int, int]
) -> None:
    bm, bn, bk = blocks
    m, n, k = bm + 3, 2 * bn - 5, 3 * bk - 1
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
    out = device.empty((m, n), np.float32)
    through_products[(2, 2)](device.put(a), device.put(b), out, *blocks)
    wide = a.astype(np.float64)
    left = np.where(wide < 0, np.exp(wide) - 1, wide).astype(np.float16).astype(np.float64)
    left = np.pad(left, ((0, 2 * bm - m), (0, 3 * bk - k)))
    right = np.pad(b.astype(np.float64), ((0, 3 * bk - k), (0, 2 * bn - n)))
    acc = np.zeros((2 * bm, 2 * bn))
    for at in range(0, 3 * bk, bk):
        acc += left[:, at : at + bk] @ right[at : at + bk]
        for _ in range(4):
            acc = np.where(acc > 3, acc * 0.5, acc)
    expected = acc.copy()
    for at in range(0, 2 * bn, bn):
        expected[:, at : at + bn] += 32 * acc[:, at : at + bn].sum(1, keepdims=True)
    # An element close to the limit may be halved on one side only: few are, and they shift their rows by little.
    wrong = ~np.isclose(device.get(out), expected[:m, :n], rtol=2e-2, atol=0.5)
    assert wrong.mean() < 0.02


@tile.kernel(num_warps=4)
def long_tile(x: tile.In, out: tile.Out, SHAPE: tile.Const):
    tile.store(out, (0, 0), tile.map_simt(clipped, tile.load(x, (0, 0), SHAPE), 0.01))


@pytest.mark.parametrize("shape", [(64, 128), (61, 127), (31, 300)])
def test_many_registers_are_taken_in_a_loop(device: Device, rng: np.random.Generator, shape: tuple[int, int]) -> None:
    x = floats(rng, *shape)
    out = device.empty(shape, np.float32)
    long_tile[(1,)](device.put(x), out, shape)
    expected = x
    for _ in range(4):
        expected = np.where(expected > np.float32(0.01), expected * np.float32(0.5), expected)
    np.testing.assert_array_equal(device.get(out), expected)
    code = long_tile.compile("sm_90a", x="f32[?,?]", out="f32[?,?]", SHAPE=shape).ir("simt")
    module = parse_module(create_context(), code, "kernel")
    copies = sum(op.name == "scf.while" for op in walk(module))
    fragments = [op for op in walk(module) if isinstance(op, simt_ops.FragmentLoad)]
    registers = fragments[0].result.type.get_shape()[0]  # type: ignore[attr-defined]
    assert copies < registers / 2 and registers >= 60


# What GPUs make of it, on a model of theirs


@pytest.mark.parametrize("target", ["model:sm_80", "model:sm_90a", "model:sm_120a"])
@pytest.mark.parametrize(("shape", "axis"), [((7, 50), 0), ((3, 40, 5), 1)])
def test_lanes_are_the_same_everywhere(
    rng: np.random.Generator, target: str, shape: tuple[int, ...], axis: int
) -> None:
    x = (rng.standard_normal(shape) * 100 - 50).astype(np.float32)
    for function, padding in ((scan, 0.0), (halvings, 0.25)):
        results = []
        for where in ("cpu", target):
            out = np.full(shape, np.nan, np.float32)
            AXIS_KERNELS[4][(1,)](x, out, shape, axis, function, padding, target=where)
            results.append(out)
        np.testing.assert_array_equal(results[1], results[0])


# The documentation


def documented(page: str, name: str) -> Any:
    """A kernel of a page of the documentation."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if f"def {name}(" in b)
    return module(block)[name]


def test_the_documented_maps(device: Device, rng: np.random.Generator) -> None:
    cx, cy = rng.uniform(-2, 1, 1500).astype(np.float32), rng.uniform(-1, 1, 1500).astype(np.float32)
    counts = device.empty(1500, np.int64)
    documented("tile-language.md", "mandelbrot")[(2,)](device.put(cx), device.put(cy), counts, 40)
    # Fused products may tell a point near the border from NumPy's.
    assert (device.get(counts) != escapes(cx, cy, 40)).mean() < 0.01
    x = rng.integers(-9, 9, (130, 30)).astype(np.float32)
    out = device.empty(x.shape, np.float32)
    documented("tile-language.md", "scan_rows")[(3,)](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), x.cumsum(axis=1))


def test_the_documented_product_of_threads(device: Device, rng: np.random.Generator) -> None:
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((70, 45), (45, 130)))
    c = device.empty((70, 130), np.float32)
    documented("simt-language.md", "product_of_tiles")[3, 2](device.put(a), device.put(b), c)
    np.testing.assert_allclose(device.get(c), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-3)


# Every architecture's code


@pytest.mark.parametrize("target", TARGETS)
def test_maps_assemble(target: str) -> None:
    kernels = [
        mandelbrot.compile(target, cx="f32[?,?]", cy="f32[?,?]", out="i32[?,?]", limit="i64", M=7, N=129),
        gather.compile(target, table="f32[?,?]", index="i64[?]", out="f32[?]", BLOCK=100),
        weighted.compile(target, x="f32[?,?]", w="i32[?,?]", out="f32[?]", best="i64[?,?]"),
        through_products.compile(target, a="f16[?,?:16]", b="f16[?:16,?:16]", out="f32[?,?]", BM=64, BN=64, BK=32),
        AXIS_KERNELS[4].compile(target, x="f32[?,?]", out="f32[?,?]", SHAPE=(7, 50), AXIS=0, FN=halvings, PADDING=0.25),
    ]
    for kernel in kernels:
        assert len(kernel.cubin) > 1000 and ".extern .func" not in kernel.ptx
        assert kernel.report["spill_stores"] <= 16  # bytes, of the product's accumulators
    assert "shfl.sync.bfly" in kernels[2].ptx and "vote.sync" in kernels[4].ptx
    assert len(kernels[3].report["atoms"]) == 1
