"""Reductions over any axis and extent, and what users saw go wrong with them, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_device import Device

from tileopt import tile


@tile.kernel
def reduce_axis(x: tile.In, out: tile.Out, M: tile.Const[int], N: tile.Const[int], AXIS: tile.Const[int]):
    v = tile.load(x, (0, 0), (M, N))
    tile.store(out, (0,), tile.sum(v, axis=AXIS))


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (48, 3), (257, 257), (16, 1000), (1000, 1), (64, 96)])
@pytest.mark.parametrize("axis", [0, 1])
def test_sum(device: Device, rng: np.random.Generator, shape: tuple[int, int], axis: int) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    out = device.empty(shape[1 - axis], np.float32)
    reduce_axis[(1,)](device.put(x), out, shape[0], shape[1], axis)
    np.testing.assert_allclose(device.get(out), x.astype(np.float64).sum(axis), rtol=1e-5, atol=1e-4)


@tile.kernel
def extremes(x: tile.In, high: tile.Out, low: tile.Out, N: tile.Const[int]):
    v = tile.load(x, (tile.bid(0), 0), (4, N))
    tile.store(high, (tile.bid(0),), tile.max(v, axis=1))
    tile.store(low, (tile.bid(0),), tile.min(v, axis=1))


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int32", "int64"])
def test_max_min(device: Device, rng: np.random.Generator, name: str) -> None:
    x = (rng.standard_normal((12, 77)) * 100 - 500).astype(name)
    high, low = device.empty(12, name), device.empty(12, name)
    extremes[(3,)](device.put(x), high, low, 77)
    np.testing.assert_array_equal(device.get(high), x.max(1))
    np.testing.assert_array_equal(device.get(low), x.min(1))


def test_max_of_a_row_with_nan_is_nan(device: Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((4, 64)).astype(np.float32)
    x[1, 17] = x[2, 63] = x[3, 0] = np.nan
    high, low = device.empty(4, np.float32), device.empty(4, np.float32)
    extremes[(1,)](device.put(x), high, low, 64)
    np.testing.assert_array_equal(device.get(high), x.max(1))
    np.testing.assert_array_equal(device.get(low), x.min(1))


@tile.kernel
def sum_all(x: tile.In, out: tile.Out, N: tile.Const[int]):
    v = tile.load(x, (0,), (N,))
    tile.store(out, (0,), tile.sum(v, axis=0, keepdims=True))


def test_sum_of_48(device: Device) -> None:
    out = device.empty(1, np.int32)
    sum_all[(1,)](device.put(np.arange(1, 49, dtype=np.int32)), out, 48)
    assert device.get(out)[0] == 1176


def test_padding_adds_nothing(device: Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal(16).astype(np.float32)
    out = device.empty(1, np.float32)
    sum_all[(1,)](device.put(x), out, 256)
    np.testing.assert_allclose(device.get(out)[0], x.astype(np.float64).sum(), rtol=1e-6)


def test_half_sums_in_single(device: Device) -> None:
    out = device.empty(1, np.float16)
    sum_all[(1,)](device.put(np.full(4096, 0.1, np.float16)), out, 4096)
    assert abs(float(device.get(out)[0]) - 409.5) < 0.6


@tile.kernel
def count_true(x: tile.In, out: tile.Out):
    v = tile.load(x, (0,), (256,))
    tile.store(out, (0,), tile.sum(v > 0, axis=0, keepdims=True))


def test_sum_of_true_values(device: Device) -> None:
    out = device.empty(1, np.int32)
    count_true[(1,)](device.put(np.ones(256, np.float32)), out)
    assert device.get(out)[0] == 256


@tile.kernel
def softmax_rows(x: tile.In, out: tile.Out, BM: tile.Const[int], N: tile.Const[int]):
    i = tile.bid(0)
    v = tile.load(x, (i, 0), (BM, N), padding="-inf").astype(tile.f32)
    e = tile.exp(v - tile.max(v, axis=1)[:, None])
    tile.store(out, (i, 0), (e / tile.sum(e, axis=1)[:, None]).astype(out.dtype))


@pytest.mark.parametrize("columns", [1, 3, 48, 96, 257, 1000])
@pytest.mark.parametrize("bm", [1, 4])
def test_softmax(device: Device, rng: np.random.Generator, columns: int, bm: int) -> None:
    x = rng.standard_normal((23, columns)).astype(np.float32)
    out = device.empty(x.shape, np.float32)
    width = 1 << max(5, (columns - 1).bit_length())
    softmax_rows[(-(-23 // bm),)](device.put(x), out, bm, width)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(device.get(out), e / e.sum(1, keepdims=True), rtol=2e-6, atol=1e-9)


@tile.kernel
def column_zero(out: tile.Out):
    lane = tile.arange(16)
    v = tile.zeros((16, 16), tile.f32) + tile.where(lane == 0, 1.0, 0.0)[None, :]
    tile.store(out, (0, 0), v)


def test_a_row_vector_touches_one_column(device: Device) -> None:
    out = device.empty((16, 16), np.float32)
    column_zero[(1,)](out)
    expected = np.zeros((16, 16), np.float32)
    expected[:, 0] = 1
    np.testing.assert_array_equal(device.get(out), expected)


@tile.kernel
def constant_rows(x: tile.In, out: tile.Out):
    v = tile.load(x, (0,), (4,))
    tile.store(out, (0, 0), tile.broadcast_to(v[:, None], (4, 4)))


def test_broadcast_has_constant_rows(device: Device) -> None:
    x = np.arange(4, dtype=np.float32)
    out = device.empty((4, 4), np.float32)
    constant_rows[(1,)](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), np.repeat(x[:, None], 4, 1))


@tile.kernel
def mask_first(x: tile.In, out: tile.Out, n: int, BLOCK: tile.Const[int] = 4096):
    total = 0.0
    for i in range(tile.cdiv(n, BLOCK)):
        v = tile.load(x, (i,), (BLOCK,))
        inside = i * BLOCK + tile.arange(BLOCK) < n
        total = total + tile.sum(tile.where(inside, v, 0.0))
    tile.store(out, (0,), tile.full((1,), total, tile.f32))


def test_a_mask_that_changes_after_one_iteration(device: Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal(5000).astype(np.float32)
    out = device.empty(1, np.float32)
    mask_first[(1,)](device.put(x), out, 4100)
    np.testing.assert_allclose(device.get(out)[0], x[:4100].astype(np.float64).sum(), rtol=1e-4, atol=1e-4)
