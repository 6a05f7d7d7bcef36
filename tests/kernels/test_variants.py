"""Products in other company (examples/variants.py): on the CPU, as GPUs compute them, and on a GPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Array, Device

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from variants import (
    biased_attention,
    capped_attention,
    gated,
    prologue,
    three_products,
    while_product,
    windowed_attention,
    with_bias_and_gelu,
)

BF16 = np.dtype(ml_dtypes.bfloat16)
TARGETS = [None, "model:sm_90a", "model:sm_100a"]
M, N, K = 200, 136, 264
BLOCKS = [(64, 64, 64), (128, 128, 32)]


def random(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(BF16)


def launch(
    device: Device, target: str | None, kernel: Any, grid: tuple[int, ...], shape: tuple[int, ...], *args: Any
) -> Array:
    """The output, of f32, that stands behind the arrays among the arguments."""
    if target is not None and device.name != "cpu":
        pytest.skip("a model runs on the CPU")
    out = device.empty(shape, np.float32)
    moved = [device.put(a) if isinstance(a, np.ndarray) else a for a in args]
    arrays = sum(isinstance(a, np.ndarray) for a in args)
    kernel[grid](*moved[:arrays], out, *moved[arrays:], target=target)
    return device.get(out)


def close(found: Array, wanted: Array, limit: float) -> None:
    assert np.linalg.norm(found.astype(np.float64) - wanted) < limit * np.linalg.norm(wanted)


def grid_of(block: tuple[int, int, int]) -> tuple[int, int]:
    return -(-M // block[0]), -(-N // block[1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("kernel", [prologue, while_product])
def test_one_product(
    device: Device, rng: np.random.Generator, kernel: Any, block: tuple[int, int, int], target: str | None
) -> None:
    a, b = random(rng, M, K), random(rng, K, N)
    left = a.astype(np.float64)
    if kernel is prologue:
        left = np.maximum(left, 0)
    close(launch(device, target, kernel, grid_of(block), (M, N), a, b, *block), left @ b.astype(np.float64), 1e-6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("block", BLOCKS)
def test_two_products_share_an_operand(
    device: Device, rng: np.random.Generator, block: tuple[int, int, int], target: str | None
) -> None:
    a, b, gate = random(rng, M, K), random(rng, K, N), (random(rng, K, N) / BF16.type(16)).astype(BF16)
    left = a.astype(np.float64)
    wanted = (left @ b.astype(np.float64)) / (1 + np.exp(-(left @ gate.astype(np.float64))))
    close(launch(device, target, gated, grid_of(block), (M, N), a, b, gate, *block), wanted, 1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_bias_and_gelu(device: Device, rng: np.random.Generator, target: str | None) -> None:
    block = BLOCKS[1]
    a, b, bias = (random(rng, M, K) / BF16.type(8)).astype(BF16), random(rng, K, N), random(rng, N)
    x = a.astype(np.float64) @ b.astype(np.float64) + bias.astype(np.float64)
    wanted = 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
    close(launch(device, target, with_bias_and_gelu, grid_of(block), (M, N), a, b, bias, *block), wanted, 1e-3)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("bm", "bn", "parts"), [(64, 64, 3), (128, 128, 2), (64, 64, 1)])
def test_a_chain_of_three(
    device: Device, rng: np.random.Generator, bm: int, bn: int, parts: int, target: str | None
) -> None:
    q, w = random(rng, 150, 64), (random(rng, 64 * parts, 64) / BF16.type(8)).astype(BF16)
    k, v = ((random(rng, bn * parts, 64) / BF16.type(8)).astype(BF16) for _ in range(2))
    wanted = np.zeros((150, 64))
    for j in range(parts):
        rows = slice(bn * j, bn * (j + 1))
        first = (q.astype(np.float64) @ k[rows].astype(np.float64).T).astype(BF16).astype(np.float64)
        second = (first @ v[rows].astype(np.float64)).astype(BF16).astype(np.float64)
        wanted += second @ w[64 * j : 64 * (j + 1)].astype(np.float64)
    close(launch(device, target, three_products, (-(-150 // bm),), (150, 64), q, k, v, w, bm, bn), wanted, 6e-3)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("length", "window"), [(200, 70), (130, 1000), (64, 1)])
def test_capped_attention_in_a_window(
    device: Device, rng: np.random.Generator, length: int, window: int, target: str | None
) -> None:
    q, k, v = (random(rng, 2, length, 64) for _ in range(3))
    wide = [x.astype(np.float64) for x in (q, k, v)]
    scores = 4.0 * np.tanh(wide[0] @ wide[1].transpose(0, 2, 1) / 8 / 4.0)
    rows, columns = np.arange(length)[:, None], np.arange(length)[None, :]
    scores[:, (columns > rows) | (columns <= rows - window)] = -np.inf
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    wanted = weights @ wide[2] / weights.sum(axis=2, keepdims=True)
    shape = (2, length, 64)
    found = launch(device, target, capped_attention, (-(-length // 64), 2), shape, q, k, v, 0.125, 4.0, window)
    close(found, wanted, 6e-3)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("queries", "keys", "bn"), [(200, 136, 64), (64, 272, 128)])
def test_attention_with_a_bias(
    device: Device, rng: np.random.Generator, queries: int, keys: int, bn: int, target: str | None
) -> None:
    q, (k, v) = random(rng, 2, queries, 64), (random(rng, 2, keys, 64) for _ in range(2))
    bias = random(rng, 2, queries, keys)
    wide = [x.astype(np.float64) for x in (q, k, v, bias)]
    scores = wide[0] @ wide[1].transpose(0, 2, 1) / 8 + wide[3]
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    wanted = weights @ wide[2] / weights.sum(axis=2, keepdims=True)
    grid, scale = (-(-queries // 64), 2), float(np.log2(np.e) / 8)
    found = launch(device, target, biased_attention, grid, (2, queries, 64), q, k, v, bias, scale, 64, bn)
    close(found, wanted, 6e-3)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("length", "window", "bm", "bn"), [(200, 70, 64, 64), (390, 100, 128, 32), (130, 1, 64, 64)])
def test_attention_in_a_window(
    device: Device, rng: np.random.Generator, length: int, window: int, bm: int, bn: int, target: str | None
) -> None:
    q, k, v = (random(rng, 2, length, 64) for _ in range(3))
    wide = [x.astype(np.float64) for x in (q, k, v)]
    scores = wide[0] @ wide[1].transpose(0, 2, 1) / 8
    rows, columns = np.arange(length)[:, None], np.arange(length)[None, :]
    scores[:, (columns > rows) | (columns <= rows - window)] = -np.inf
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    wanted = weights @ wide[2] / weights.sum(axis=2, keepdims=True)
    grid, scale = (-(-length // bm), 2), float(np.log2(np.e) / 8)
    found = launch(device, target, windowed_attention, grid, (2, length, 64), q, k, v, scale, window, bm, bn)
    close(found, wanted, 6e-3)
