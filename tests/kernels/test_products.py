"""Matrix products in every form that one kernel can hold, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Array, Device

import tileopt
from tileopt import tile

LIMIT = {"float16": 1e-3, "bfloat16": 1e-3, "float32": 1e-6, "float64": 1e-14}


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def sample(rng: np.random.Generator, shape: tuple[int, ...], name: str) -> Array:
    return rng.standard_normal(shape).astype(dtype_of(name))


def close(out: Array, reference: Array, limit: float) -> None:
    error = np.linalg.norm(out.astype(np.float64) - reference) / max(1e-30, float(np.linalg.norm(reference)))
    assert error < limit, f"relative error {error:.2e}"


@tile.kernel
def matmul(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f64 if a.dtype == tile.f64 else tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
    tile.store(out, (i, j), acc.astype(out.dtype))


def product(device: Device, a: Array, b: Array, block: tuple[int, int, int] = (64, 64, 32)) -> Array:
    out_type = np.float64 if a.dtype == np.float64 else np.float32
    out = device.empty((a.shape[0], b.shape[1]), out_type)
    grid = (tileopt.cdiv(a.shape[0], block[0]), tileopt.cdiv(b.shape[1], block[1]))
    matmul[grid](device.put(a), device.put(b), out, *block)
    return device.get(out)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(64, 64, 64), (1, 1, 1), (3, 48, 96), (100, 77, 130), (257, 65, 33)])
def test_matmul(device: Device, rng: np.random.Generator, name: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b = sample(rng, (m, k), name), sample(rng, (k, n), name)
    # Products of 16-bit floats are exact in f32: only the sum rounds.
    limit = 1e-14 if name == "float64" else 1e-6
    close(product(device, a, b), a.astype(np.float64) @ b.astype(np.float64), limit)


@pytest.mark.parametrize("block", [(16, 8, 16), (32, 96, 48), (1, 64, 64), (48, 3, 1), (128, 128, 32), (64, 16, 128)])
def test_matmul_with_any_block(device: Device, rng: np.random.Generator, block: tuple[int, int, int]) -> None:
    a, b = sample(rng, (96, 80), "float16"), sample(rng, (80, 112), "float16")
    close(product(device, a, b, block), a.astype(np.float64) @ b.astype(np.float64), 1e-6)


@pytest.mark.parametrize("a_order", ["row", "column"])
@pytest.mark.parametrize("b_order", ["row", "column"])
@pytest.mark.parametrize("name", ["bfloat16", "float32"])
def test_transposed_arrays(device: Device, rng: np.random.Generator, a_order: str, b_order: str, name: str) -> None:
    a = sample(rng, (96, 64), name) if a_order == "row" else sample(rng, (64, 96), name).T
    b = sample(rng, (64, 80), name) if b_order == "row" else sample(rng, (80, 64), name).T
    close(product(device, a, b), a.astype(np.float64) @ b.astype(np.float64), 1e-6)


WIDE_BLOCKS = [(64, 16, 32), (64, 32, 64), (64, 96, 64), (128, 256, 64), (128, 64, 128), (256, 64, 32), (64, 8, 32)]


@pytest.mark.parametrize("block", WIDE_BLOCKS)
@pytest.mark.parametrize("orders", ["rr", "rc", "cr", "cc"])
def test_blocks_of_whole_warpgroups(
    device: Device, rng: np.random.Generator, block: tuple[int, int, int], orders: str
) -> None:
    m, n, k = 256, 272, 160
    a = sample(rng, (m, k), "float16") if orders[0] == "r" else sample(rng, (k, m), "float16").T
    b = sample(rng, (k, n), "float16") if orders[1] == "r" else sample(rng, (n, k), "float16").T
    close(product(device, a, b, block), a.astype(np.float64) @ b.astype(np.float64), 1e-6)


def test_single_precision_is_single_precision(device: Device, rng: np.random.Generator) -> None:
    a, b = sample(rng, (512, 512), "float32"), sample(rng, (512, 512), "float32")
    close(product(device, a, b), a.astype(np.float64) @ b.astype(np.float64), 1e-6)


@tile.kernel
def one_tile(a: tile.In, b: tile.In, out: tile.Out):
    acc = tile.zeros((32, 32), tile.f32)
    for k in range(tile.cdiv(a.shape[1], 32)):
        acc = tile.mma(tile.load(a, (0, k), (32, 32)), tile.load(b, (k, 0), (32, 32)), acc)
    tile.store(out, (0, 0), acc)


@pytest.mark.parametrize("k", [1, 32, 33, 64, 96, 128, 500])
def test_few_iterations(device: Device, rng: np.random.Generator, k: int) -> None:
    a, b = sample(rng, (32, k), "float16"), sample(rng, (k, 32), "float16")
    out = device.empty((32, 32), np.float32)
    one_tile[(1,)](device.put(a), device.put(b), out)
    close(device.get(out), a.astype(np.float64) @ b.astype(np.float64), 1e-6)


@tile.kernel
def with_work(a: tile.In, b: tile.In, bias: tile.In, out: tile.Out, slope: tile.f32):
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((64, 32), tile.f32)
    for k in range(tile.cdiv(a.shape[1], 32)):
        left = tile.load(a, (i, k), (64, 32)).astype(tile.f32) * slope
        right = tile.exp(tile.load(b, (k, j), (32, 32)).astype(tile.f32)) - 1.0
        acc = tile.mma(left.astype(tile.f16), right.astype(tile.f16), acc)
    row = tile.load(bias, (j,), (32,))
    acc = acc + row[None, :]
    tile.store(out, (i, j), tile.where(acc > 0.0, acc, acc * 0.1))


def test_operands_out_of_elementwise_work(device: Device, rng: np.random.Generator) -> None:
    a, b = sample(rng, (130, 70), "float16"), (0.1 * sample(rng, (70, 50), "float32")).astype(np.float16)
    bias = sample(rng, (50,), "float32")
    out = device.empty((130, 50), np.float32)
    with_work[(3, 2)](device.put(a), device.put(b), device.put(bias), out, 0.5)
    left = (a.astype(np.float32) * np.float32(0.5)).astype(np.float16)
    right = (np.exp(b.astype(np.float32)) - 1).astype(np.float16)
    r = left.astype(np.float64) @ right.astype(np.float64) + bias
    close(device.get(out), np.where(r > 0, r, r * 0.1), 2e-4)


@tile.kernel
def chain(a: tile.In, b: tile.In, c: tile.In, out: tile.Out):
    x, y, z = tile.load(a, (0, 0), (64, 64)), tile.load(b, (0, 0), (64, 64)), tile.load(c, (0, 0), (64, 64))
    first = tile.mma(x, y, tile.zeros((64, 64), tile.f32)).astype(tile.f16)
    tile.store(out, (0, 0), tile.mma(first.T, z, tile.zeros((64, 64), tile.f32)))


def test_product_of_a_transposed_product(device: Device, rng: np.random.Generator) -> None:
    a, b, c = (sample(rng, (64, 64), "float16") for _ in range(3))
    out = device.empty((64, 64), np.float32)
    chain[(1,)](device.put(a), device.put(b), device.put(c), out)
    first = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
    close(device.get(out), first.T.astype(np.float64) @ c.astype(np.float64), 1e-3)


@tile.kernel
def gated(x: tile.In, u: tile.In, w: tile.In, out: tile.Out):
    i, j = tile.bid(0), tile.bid(1)
    up, gate = tile.zeros((32, 32), tile.f32), tile.zeros((32, 32), tile.f32)
    for k in range(tile.cdiv(x.shape[1], 32)):
        left = tile.load(x, (i, k), (32, 32))
        up = tile.mma(left, tile.load(u, (k, j), (32, 32)), up)
        gate = tile.mma(left, tile.load(w, (k, j), (32, 32)), gate)
    tile.store(out, (i, j), up * tile.sigmoid(gate))


def test_two_products_share_an_operand(device: Device, rng: np.random.Generator) -> None:
    x, u, w = sample(rng, (50, 100), "bfloat16"), sample(rng, (100, 40), "bfloat16"), sample(rng, (100, 40), "bfloat16")
    out = device.empty((50, 40), np.float32)
    gated[(2, 2)](device.put(x), device.put(u), device.put(w), out)
    up, gate = (x.astype(np.float64) @ y.astype(np.float64) for y in (u, w))
    close(device.get(out), up / (1 + np.exp(-gate)), 1e-5)


@tile.kernel
def reduced_operand(x: tile.In, w: tile.In, out: tile.Out):
    v = tile.load(x, (0, 0), (32, 64))
    mean = tile.sum(v.astype(tile.f32), axis=1) / 64.0
    centred = (v.astype(tile.f32) - mean[:, None]).astype(tile.f16)
    tile.store(out, (0, 0), tile.mma(centred, tile.load(w, (0, 0), (64, 16)), tile.zeros((32, 16), tile.f32)))


def test_a_reduction_feeds_a_product(device: Device, rng: np.random.Generator) -> None:
    x, w = sample(rng, (32, 64), "float16"), sample(rng, (64, 16), "float16")
    out = device.empty((32, 16), np.float32)
    reduced_operand[(1,)](device.put(x), device.put(w), out)
    v = x.astype(np.float64)
    centred = (v - v.mean(1, keepdims=True)).astype(np.float16).astype(np.float64)
    close(device.get(out), centred @ w.astype(np.float64), 1e-3)


@tile.kernel
def integer(a: tile.In, b: tile.In, out: tile.Out):
    acc = tile.zeros((32, 32), tile.i32)
    for k in range(tile.cdiv(a.shape[1], 32)):
        acc = tile.mma(tile.load(a, (0, k), (32, 32)), tile.load(b, (k, 0), (32, 32)), acc)
    tile.store(out, (0, 0), acc)


def test_integer_product(device: Device, rng: np.random.Generator) -> None:
    a, b = rng.integers(-128, 128, (30, 70)).astype(np.int8), rng.integers(-128, 128, (70, 20)).astype(np.int8)
    out = device.empty((30, 20), np.int32)
    integer[(1,)](device.put(a), device.put(b), out)
    np.testing.assert_array_equal(device.get(out), a.astype(np.int32) @ b.astype(np.int32))
