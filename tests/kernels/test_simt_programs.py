"""The kernels of threads in examples/simt, at sizes that divide nothing, against NumPy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_device import Array, Device

from tileopt import simt

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "simt"))

from bitonic_sort import sort_rows
from hash_map import find, insert
from histogram import histogram
from mandelbrot import mandelbrot
from n_body import n_body
from reduction import total
from scale import scale
from scan import scan
from sparse_product import sparse_product
from stencil import diffuse
from tiled_product import tiled_product
from transpose import transpose
from warp_bits import compact, count_by_key


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("n", [1, 255, 10_007])
def test_scale(device: Device, rng: np.random.Generator, n: int) -> None:
    x, out = floats(rng, n), device.empty(n, np.float32)
    scale[simt.cdiv(n, 256)](2.5, device.put(x), out)
    np.testing.assert_array_equal(device.get(out), np.float32(2.5) * x)


@pytest.mark.parametrize("n", [1, 31, 4099])
@pytest.mark.parametrize("name", ["int32", "int64", "float64"])
def test_total(device: Device, rng: np.random.Generator, n: int, name: str) -> None:
    x = rng.integers(-1000, 1000, n).astype(name)
    out = device.put(np.full(1, 7, name))
    total[3](device.put(x), out)
    assert device.get(out)[0] == x.sum() + 7


@pytest.mark.parametrize("n", [1, 33, 256, 1999])
def test_scan(device: Device, rng: np.random.Generator, n: int) -> None:
    x = rng.integers(-1000, 1000, n).astype(np.int32)
    out = device.empty(n, np.int32)
    blocks = simt.cdiv(n, 256)
    scan[blocks](device.put(x), out)
    runs = np.pad(x, (0, 256 * blocks - n)).reshape(blocks, 256)
    np.testing.assert_array_equal(device.get(out), runs.cumsum(1).ravel()[:n])


@pytest.mark.parametrize("shape", [(1, 1), (31, 65), (100, 33)])
def test_transpose(device: Device, rng: np.random.Generator, shape: tuple[int, int]) -> None:
    x, out = floats(rng, *shape), device.empty(shape[::-1], np.float32)
    transpose[(simt.cdiv(shape[1], 32), simt.cdiv(shape[0], 32))](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), x.T)


@pytest.mark.parametrize("n", [0, 1, 20_011])
def test_histogram(device: Device, rng: np.random.Generator, n: int) -> None:
    x = (rng.standard_normal(n) * 30 + 128).clip(0, 255).astype(np.uint8)
    bins = device.put(np.zeros(256, np.uint32))
    histogram[5](device.put(x), bins)
    np.testing.assert_array_equal(device.get(bins), np.bincount(x, minlength=256))


@pytest.mark.parametrize("shape", [(1, 1), (16, 16), (37, 53)])
def test_stencil(device: Device, rng: np.random.Generator, shape: tuple[int, int]) -> None:
    x, out = floats(rng, *shape), device.empty(shape, np.float32)
    diffuse[(simt.cdiv(shape[1], 16), simt.cdiv(shape[0], 16))](device.put(x), out, 0.2)
    p = np.pad(x.astype(np.float64), 1)
    around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    np.testing.assert_allclose(device.get(out), x + 0.2 * (around - 4.0 * x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1, 1), (17, 33, 50), (48, 16, 35)])
def test_tiled_product(device: Device, rng: np.random.Generator, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b, c = floats(rng, m, k), floats(rng, k, n), device.empty((m, n), np.float32)
    tiled_product[(simt.cdiv(n, 16), simt.cdiv(m, 16))](device.put(a), device.put(b), c)
    np.testing.assert_allclose(device.get(c), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5)


def test_hash_map(device: Device, rng: np.random.Generator) -> None:
    keys, data = rng.integers(0, 500, 2003).astype(np.int32) * 7919, rng.integers(1, 100, 2003).astype(np.int32)
    slots, values = device.put(np.full(701, -1, np.int32)), device.put(np.zeros(701, np.int32))
    insert[simt.cdiv(2003, 128)](device.put(keys), device.put(data), slots, values)
    expected: dict[int, int] = {}
    for key, value in zip(keys.tolist(), data.tolist(), strict=True):
        expected[key] = expected.get(key, 0) + value
    present = device.get(slots)
    assert sorted(present[present >= 0].tolist()) == sorted(expected)
    wanted = np.concatenate([keys[:300], rng.integers(0, 4000, 301).astype(np.int32)])
    out = device.empty(601, np.int32)
    find[simt.cdiv(601, 128)](device.put(wanted), slots, values, out)
    np.testing.assert_array_equal(device.get(out), [expected.get(key, -1) for key in wanted.tolist()])


@pytest.mark.parametrize("columns", [1, 300, 512])
def test_bitonic_sort(device: Device, rng: np.random.Generator, columns: int) -> None:
    x = rng.integers(-(2**31), 2**31, (3, columns)).astype(np.int32)
    out = device.empty(x.shape, np.int32)
    sort_rows[4](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), np.sort(x, 1))


def test_mandelbrot(device: Device) -> None:
    shape, limit = (41, 67), 60
    out = device.empty(shape, np.int32)
    mandelbrot[(3, 11)](out, -2.0, -1.0, 0.05, limit)
    c = -2.0 + np.arange(67)[None] * 0.05 + 1j * (-1.0 + np.arange(41)[:, None] * 0.05)
    z, expected = np.zeros(shape, complex), np.zeros(shape, np.int64)
    inside = np.ones(shape, bool)
    for _ in range(limit):
        inside &= z.real**2 + z.imag**2 <= 4.0
        z = np.where(inside, z * z + c, z)
        expected += inside
    got = device.get(out)
    assert (expected == limit).any() and (expected < 5).any()
    assert (got != expected).mean() < 0.01  # on the edge of the set the last bit decides


@pytest.mark.parametrize("n", [1, 129, 300])
def test_n_body(device: Device, rng: np.random.Generator, n: int) -> None:
    bodies = floats(rng, n, 4)
    bodies[:, 3] = np.abs(bodies[:, 3])
    pull = device.empty((n, 3), np.float32)
    n_body[simt.cdiv(n, 128)](device.put(bodies), pull, 0.1)
    p, mass = bodies[:, :3].astype(np.float64), bodies[:, 3].astype(np.float64)
    apart = p[None] - p[:, None]
    weight = mass[None] / ((apart**2).sum(-1) + 0.1) ** 1.5
    expected = (weight[:, :, None] * apart).sum(1)
    np.testing.assert_allclose(device.get(pull), expected, rtol=1e-4, atol=1e-4 * mass.sum())


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (150, 90), (33, 400)])
def test_sparse_product(device: Device, rng: np.random.Generator, rows: int, columns: int) -> None:
    dense = np.where(rng.random((rows, columns)) < 0.2, floats(rng, rows, columns), np.float32(0))
    row, column = np.nonzero(dense)
    starts = np.searchsorted(row, np.arange(rows + 1)).astype(np.int64)
    x, y = floats(rng, columns), device.empty(rows, np.float32)
    arrays = starts, column.astype(np.int32), dense[row, column], x
    sparse_product[simt.cdiv(rows, 4)](*map(device.put, arrays), y)
    expected = dense.astype(np.float64) @ x.astype(np.float64)
    np.testing.assert_allclose(device.get(y), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 100, 3001])
def test_compact(device: Device, rng: np.random.Generator, n: int) -> None:
    x = rng.integers(-50, 50, n).astype(np.int32)
    out, count = device.put(np.full(n, -777, np.int32)), device.put(np.zeros(1, np.uint32))
    compact[simt.cdiv(n, 128)](device.put(x), out, count)
    kept, got = x[x > 0], device.get(out)
    assert device.get(count)[0] == len(kept)
    np.testing.assert_array_equal(np.sort(got[: len(kept)]), np.sort(kept))
    assert (got[len(kept) :] == -777).all()


def test_count_by_key(device: Device, rng: np.random.Generator) -> None:
    keys = rng.integers(0, 40, 2001).astype(np.int32)
    bins = device.put(np.zeros(13, np.uint32))
    count_by_key[simt.cdiv(2001, 128)](device.put(keys), bins)
    np.testing.assert_array_equal(device.get(bins), np.bincount(keys % 13, minlength=13))


# How many accesses are tested at run time: those whose index is data.
SIGNATURES: dict[Any, tuple[int, dict[str, str]]] = {
    scale: (0, {"a": "f32", "x": "f32[?]", "out": "f32[?]"}),
    total: (0, {"x": "f32[?]", "out": "f32[?]"}),
    scan: (0, {"x": "i32[?]", "out": "i32[?]"}),
    transpose: (0, {"x": "f32[?,?]", "out": "f32[?,?]"}),
    histogram: (0, {"x": "u8[?]", "bins": "u32[?]"}),
    diffuse: (0, {"x": "f32[?,?]", "out": "f32[?,?]", "rate": "f32"}),
    tiled_product: (0, {"a": "f32[?,?]", "b": "f32[?,?]", "c": "f32[?,?]"}),
    sort_rows: (0, {"x": "i32[?,?]", "out": "i32[?,?]"}),
    mandelbrot: (0, {"out": "i32[?,?]", "left": "f64", "top": "f64", "step": "f64", "limit": "i64"}),
    n_body: (0, {"bodies": "f32[?,?]", "pull": "f32[?,?]", "softening": "f32"}),
    count_by_key: (0, {"keys": "i32[?]", "bins": "u32[?]"}),
    compact: (1, {"x": "i32[?]", "out": "i32[?]", "count": "u32[?]"}),
    insert: (0, {"new": "i32[?]", "data": "i32[?]", "keys": "i32[?]", "values": "i32[?]"}),
    find: (0, {"wanted": "i32[?]", "keys": "i32[?]", "values": "i32[?]", "out": "i32[?]"}),
    sparse_product: (
        3,
        {"starts": "i64[?]", "columns": "i32[?]", "values": "f32[?]", "x": "f32[?]", "y": "f32[?]"},
    ),
}


@pytest.mark.parametrize("kernel", SIGNATURES, ids=lambda k: k.name)
def test_what_can_be_proved_is(kernel: Any) -> None:
    most, signature = SIGNATURES[kernel]
    compiled = kernel.compile("sm_75", **signature)
    tested = [line for line in compiled.report["bounds"] if ": checked" in line]
    assert len(tested) <= most, tested
    assert ("trap" in compiled.ptx) == bool(tested)
    assert compiled.cubin
