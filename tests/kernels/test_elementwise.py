"""Elementwise kernels over every type, rank, extent and stride, against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Array, Device

import tileopt
from tileopt import tile

SIZES = [1, 3, 48, 96, 257, 1000, 4100]
TYPES = ["float16", "bfloat16", "float32", "float64", "int32", "int64"]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def sample(rng: np.random.Generator, shape: tuple[int, ...], name: str) -> Array:
    if name.startswith("int"):
        return rng.integers(-1000, 1000, shape).astype(name)
    return rng.standard_normal(shape).astype(dtype_of(name))


@tile.kernel
def add_1d(x: tile.In, y: tile.In, out: tile.Out, BLOCK: tile.Const[int] = 128):
    i = tile.bid(0)
    tile.store(out, (i,), tile.load(x, (i,), (BLOCK,)) + tile.load(y, (i,), (BLOCK,)))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", TYPES)
def test_add(device: Device, rng: np.random.Generator, n: int, name: str) -> None:
    x, y = sample(rng, (n,), name), sample(rng, (n,), name)
    out = device.empty(n, x.dtype)
    add_1d[(tileopt.cdiv(n, 128),)](device.put(x), device.put(y), out)
    np.testing.assert_array_equal(device.get(out), x + y)


@pytest.mark.parametrize("block", [1, 3, 48, 96, 257, 1000, 1024])
def test_add_with_any_block(device: Device, rng: np.random.Generator, block: int) -> None:
    n = 2003
    x, y = sample(rng, (n,), "float32"), sample(rng, (n,), "float32")
    out = device.empty(n, x.dtype)
    add_1d[(tileopt.cdiv(n, block),)](device.put(x), device.put(y), out, BLOCK=block)
    np.testing.assert_array_equal(device.get(out), x + y)


def test_nothing_to_do(device: Device) -> None:
    x = np.zeros(0, np.float32)
    out = device.empty(0, np.float32)
    add_1d[(0,)](device.put(x), device.put(x), out)
    add_1d[(1,)](device.put(x), device.put(x), out)
    assert device.get(out).size == 0


@tile.kernel
def axpy_2d(a: tile.f32, x: tile.In, y: tile.In, out: tile.Out, BM: tile.Const[int] = 16, BN: tile.Const[int] = 32):
    i, j = tile.bid(0), tile.bid(1)
    xs, ys = tile.load(x, (i, j), (BM, BN)), tile.load(y, (i, j), (BM, BN))
    tile.store(out, (i, j), a * xs + ys)


@pytest.mark.parametrize("shape", [(1, 1), (3, 257), (48, 96), (100, 33), (257, 3)])
@pytest.mark.parametrize("tile_shape", [(16, 32), (3, 48), (1, 257)])
def test_2d(device: Device, rng: np.random.Generator, shape: tuple[int, int], tile_shape: tuple[int, int]) -> None:
    x, y = sample(rng, shape, "float32"), sample(rng, shape, "float32")
    out = device.empty(shape, np.float32)
    bm, bn = tile_shape
    grid = (tileopt.cdiv(shape[0], bm), tileopt.cdiv(shape[1], bn))
    axpy_2d[grid](1.5, device.put(x), device.put(y), out, BM=bm, BN=bn)
    np.testing.assert_allclose(device.get(out), 1.5 * x.astype(np.float64) + y, rtol=1e-6, atol=1e-6)


@tile.kernel
def scale_3d(x: tile.In, out: tile.Out):
    i, j, k = tile.bid(0), tile.bid(1), tile.bid(2)
    tile.store(out, (i, j, k), tile.load(x, (i, j, k), (2, 5, 16)) * 2)


@pytest.mark.parametrize("layout", ["dense", "transposed", "sliced", "broadcast", "reversed"])
def test_strides_3d(device: Device, rng: np.random.Generator, layout: str) -> None:
    shape = (5, 11, 33)
    if layout == "transposed":
        x = sample(rng, shape[::-1], "float32").transpose(2, 1, 0)
    elif layout == "sliced":
        x = sample(rng, (10, 22, 99), "float32")[::2, 1::2, 2::3]
    elif layout == "broadcast":
        x = np.broadcast_to(sample(rng, (1, 11, 33), "float32"), shape)
    elif layout == "reversed":
        if device.name != "cpu":
            pytest.skip("PyTorch has no negative strides")
        x = sample(rng, shape, "float32")[::-1, :, ::-1]
    else:
        x = sample(rng, shape, "float32")
    out = device.empty(shape, np.float32)
    scale_3d[(3, 3, 3)](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), x * 2)


@pytest.mark.parametrize("order", ["C", "F"])
def test_strided_output(device: Device, rng: np.random.Generator, order: str) -> None:
    if device.name != "cpu":
        pytest.skip("the output is a NumPy view")
    x, y = sample(rng, (60, 70), "float32"), sample(rng, (60, 70), "float32")
    whole = np.full((120, 140), 7, np.float32, order=order)  # type: ignore[call-overload]
    out = whole[1::2, 1::2]
    axpy_2d[(4, 3)](2.0, x, y, out)
    np.testing.assert_allclose(out, 2.0 * x.astype(np.float64) + y, rtol=1e-6, atol=1e-6)
    whole[1::2, 1::2] = 7
    assert (whole == 7).all()


@tile.kernel
def math_all(x: tile.In, out: tile.Out, BLOCK: tile.Const[int] = 256):
    v = tile.load(x, (tile.bid(0),), (BLOCK,))
    a = tile.abs(v) + 0.5
    r = tile.exp(v) + tile.log(a) * tile.sqrt(a) - tile.rsqrt(a)
    r = r + tile.sin(v) * tile.cos(v) + tile.tanh(v) + tile.exp2(v) + tile.log2(a)
    tile.store(out, (tile.bid(0),), r + tile.floor(v) - tile.ceil(a))


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_math(device: Device, rng: np.random.Generator, name: str) -> None:
    x = sample(rng, (1000,), name)
    out = device.empty(1000, x.dtype)
    math_all[(4,)](device.put(x), out)
    v = x.astype(np.float64)
    a = np.abs(v) + 0.5
    r = np.exp(v) + np.log(a) * np.sqrt(a) - 1 / np.sqrt(a)
    r = r + np.sin(v) * np.cos(v) + np.tanh(v) + np.exp2(v) + np.log2(a) + np.floor(v) - np.ceil(a)
    limit = 4e-6 if name == "float32" else 1e-13
    np.testing.assert_allclose(device.get(out), r, rtol=limit, atol=limit)


@tile.kernel
def where_nan(x: tile.In, y: tile.In, big: tile.Out, chosen: tile.Out):
    i = tile.bid(0)
    a, b = tile.load(x, (i,), (64,)), tile.load(y, (i,), (64,))
    tile.store(big, (i,), tile.maximum(a, b))
    tile.store(chosen, (i,), tile.where(a != a, tile.full((64,), -1.0, tile.f32), a))


def test_nan_propagates_from_either_side(device: Device, rng: np.random.Generator) -> None:
    x, y = sample(rng, (64,), "float32"), sample(rng, (64,), "float32")
    x[3] = y[5] = np.nan
    big, chosen = device.empty(64, np.float32), device.empty(64, np.float32)
    where_nan[(1,)](device.put(x), device.put(y), big, chosen)
    np.testing.assert_array_equal(device.get(big), np.maximum(x, y))
    np.testing.assert_array_equal(device.get(chosen), np.where(np.isnan(x), np.float32(-1), x))


@tile.kernel
def divide(x: tile.In, out: tile.Out, rest: tile.Out, d: int):
    i = tile.bid(0)
    v = tile.load(x, (i,), (32,))
    tile.store(out, (i,), v // d)
    tile.store(rest, (i,), v % d)


@pytest.mark.parametrize("d", [5, -5, 7, 1, -1, 64])
def test_floor_division(device: Device, d: int) -> None:
    x = np.arange(-36, 37, dtype=np.int64)
    out, rest = device.empty(len(x), np.int64), device.empty(len(x), np.int64)
    divide[(3,)](device.put(x), out, rest, d)
    np.testing.assert_array_equal(device.get(out), x // d)
    np.testing.assert_array_equal(device.get(rest), x % d)


@tile.kernel
def to_bf16(x: tile.In, y: tile.In, out: tile.Out, BLOCK: tile.Const[int] = 1024):
    i = tile.bid(0)
    a, b = tile.load(x, (i,), (BLOCK,)), tile.load(y, (i,), (BLOCK,))
    tile.store(out, (i,), a * b)


def test_bf16_products_round_to_nearest_even(device: Device, rng: np.random.Generator) -> None:
    n = 1 << 20
    x = rng.integers(0, 1 << 16, n).astype(np.uint16).view(ml_dtypes.bfloat16)
    y = rng.integers(0, 1 << 16, n).astype(np.uint16).view(ml_dtypes.bfloat16)
    out = device.empty(n, x.dtype)
    to_bf16[(n // 1024,)](device.put(x), device.put(y), out)
    with np.errstate(all="ignore"):
        exact = (x.astype(np.float32) * y.astype(np.float32)).astype(ml_dtypes.bfloat16)
    got = device.get(out)
    nan = np.isnan(exact.astype(np.float32))
    assert (np.isnan(got.astype(np.float32)) == nan).all()
    np.testing.assert_array_equal(got.view(np.uint16)[~nan], exact.view(np.uint16)[~nan])
