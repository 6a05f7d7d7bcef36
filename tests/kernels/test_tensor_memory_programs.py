"""What programs do with accumulators in tensor memory beside adding products to them: by the model of sm_100a."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from product_programs import operand, product

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from matmul import matmul
from split_k import split_k

from tileopt import tile

MODEL = "model:sm_100a"
Array = np.ndarray[Any, Any]


def close(found: Array, wanted: Array) -> None:
    assert np.linalg.norm(found.astype(np.float64) - wanted) < 1e-6 * np.linalg.norm(wanted)


def wide(values: Array) -> Array:
    return values.astype(np.float64)


@pytest.mark.parametrize("parts", [1, 3])
def test_parts_of_a_sum_by_atomics(rng: np.random.Generator, parts: int) -> None:
    a, b = operand(rng, (150, 300), "bf16"), operand(rng, (300, 70), "bf16")
    out = np.zeros((150, 70), np.float32)
    split_k[2, 2, parts](a, b, out, 128, 48, 32, target=MODEL)
    close(out, wide(a) @ wide(b))


@tile.kernel
def turned(a: tile.In, b: tile.In, out: tile.Out, sums: tile.Out, tops: tile.Out):
    i = tile.bid(0)
    acc = tile.zeros((128, 64), tile.f32)
    for k in range(tile.cdiv(a.shape[1], 32)):
        acc = tile.mma(tile.load(a, (i, k), (128, 32)), tile.load(b, (k, 0), (32, 64)), acc)
    tile.store(out, (0, i), acc.T)
    tile.store(sums, (i, 0), tile.sum(acc, axis=0).reshape((1, 64)))
    tile.store(tops, (i,), tile.max(acc, axis=1))


def test_transposes_and_reductions(rng: np.random.Generator) -> None:
    a, b = operand(rng, (256, 100), "f16"), operand(rng, (100, 64), "f16")
    out, sums = np.full((64, 256), np.nan, np.float32), np.full((2, 64), np.nan, np.float32)
    tops = np.full((256,), np.nan, np.float32)
    turned[2](a, b, out, sums, tops, target=MODEL)
    wanted = wide(a) @ wide(b)
    close(out, wanted.T)
    close(tops, wanted.max(1))
    assert np.abs(sums - wanted.reshape(2, 128, 64).sum(1)).max() < 1e-3


@tile.kernel
def chain(a: tile.In, b: tile.In, c: tile.In, out: tile.Out):
    """The sum of (a b)^T c over groups of 128 rows: what is computed is the next product's left operand, turned."""
    acc = tile.zeros((128, 64), tile.f32)
    for k in range(tile.cdiv(a.shape[0], 128)):
        first = tile.mma(tile.load(a, (k, 0), (128, 32)), tile.load(b, (0, 0), (32, 128)), tile.zeros((128, 128)))
        acc = tile.mma(first.astype(a.dtype).T, tile.load(c, (k, 0), (128, 64)), acc)
    tile.store(out, (0, 0), acc)


def test_a_computed_operand_turned(rng: np.random.Generator) -> None:
    a, b, c = operand(rng, (300, 32), "bf16"), operand(rng, (32, 128), "bf16"), operand(rng, (300, 64), "bf16")
    out = np.full((128, 64), np.nan, np.float32)
    chain[1](a, b, c, out, target=MODEL)
    first = (wide(a) @ wide(b)).astype(np.float32).astype(a.dtype)
    assert np.linalg.norm(out - wide(first).T @ wide(c)) < 1e-3 * np.linalg.norm(out)
    compiled = chain.compile("sm_100a", **dict.fromkeys("abc", "bf16[?:16, ?:16]"), out="f32[?, ?]")
    assert compiled.report["atoms"] == ["tcgen05_m128n128k16_bf16_f32", "tcgen05_m128n64k16_bf16_f32"]
    assert compiled.report["tensor_columns"] == 256
    assert len(compiled.cubin) > 1000


@tile.kernel
def residual(a: tile.In, b: tile.In, d: tile.In, out: tile.Out):
    """An accumulator that begins with what an array holds, which is wanted once more behind the loop."""
    i, j = tile.bid(0), tile.bid(1)
    first = tile.load(d, (i, j), (128, 64)).astype(tile.f32)
    acc = first
    for k in range(tile.cdiv(a.shape[1], 32)):
        acc = tile.mma(tile.load(a, (i, k), (128, 32)), tile.load(b, (k, j), (32, 64)), acc)
    tile.store(out, (i, j), acc + first)


def test_an_accumulator_that_begins_with_an_array(rng: np.random.Generator) -> None:
    a, b, d = operand(rng, (150, 100), "bf16"), operand(rng, (100, 70), "bf16"), operand(rng, (150, 70), "bf16")
    out = np.full((150, 70), np.nan, np.float32)
    residual[2, 2](a, b, d, out, target=MODEL)
    close(out, wide(a) @ wide(b) + 2 * wide(d))


@tile.kernel
def crossed(a: tile.In, b: tile.In, out: tile.Out):
    """Two accumulators that change places in each iteration."""
    x, y = tile.zeros((128, 32), tile.f32), tile.full((128, 32), 1.0, tile.f32)
    for k in range(tile.cdiv(a.shape[1], 32)):
        left, right = tile.load(a, (0, k), (128, 32)), tile.load(b, (k, 0), (32, 32))
        x, y = tile.mma(left, right, y), tile.mma(left, right, x)
    tile.store(out, (0, 0), x - y * 0.5)


def test_accumulators_that_change_places(rng: np.random.Generator) -> None:
    a, b = operand(rng, (128, 90), "f16"), operand(rng, (90, 32), "f16")
    x, y = np.zeros((128, 32)), np.ones((128, 32))
    for k in range(0, 90, 32):
        both = wide(a[:, k : k + 32]) @ wide(b[k : k + 32])
        x, y = y + both, x + both
    out = np.full((128, 32), np.nan, np.float32)
    crossed[1](a, b, out, target=MODEL)
    close(out, x - y / 2)


@tile.kernel
def counted(a: tile.In, b: tile.In, out: tile.Out, order: tile.In):
    """A `while` whose end is read from an array as it runs."""
    acc = tile.zeros((128, 32), tile.f32)
    k = 0
    while k >= 0:
        acc = tile.mma(tile.load(a, (0, k), (128, 32)), tile.load(b, (k, 0), (32, 32)), acc)
        k = tile.load(order, (k,), (1,)).item()
    tile.store(out, (0, 0), acc)


def test_a_loop_that_data_ends(rng: np.random.Generator) -> None:
    a, b = operand(rng, (128, 160), "bf16"), operand(rng, (160, 32), "bf16")
    order = np.array([3, 0, 0, 1, 0], np.int32)
    order[1] = -1
    out = np.full((128, 32), np.nan, np.float32)
    counted[1](a, b, out, order, target=MODEL)
    wanted = sum(wide(a[:, 32 * k : 32 * k + 32]) @ wide(b[32 * k : 32 * k + 32]) for k in (0, 3, 1))
    close(out, np.asarray(wanted))


@pytest.mark.parametrize("size", [2, 4])
def test_blocks_of_a_cluster_share_what_they_load(rng: np.random.Generator, size: int) -> None:
    """A slot that other blocks fill, too, is given back by the warps, when the products that read it are done."""
    a, b = operand(rng, (400, 104), "bf16"), operand(rng, (104, 136), "bf16")
    out = np.full((400, 136), np.nan, np.float32)
    matmul.with_hints(num_ctas=size)[4, 3](a, b, out, 128, 64, 32, target=MODEL)
    close(out, wide(a) @ wide(b))


@pytest.mark.parametrize("_", range(6))
def test_tiles_of_any_extents(rng: np.random.Generator, _: int) -> None:
    bm, bn, bk = 128 * rng.integers(1, 3), 16 * rng.integers(1, 9), int(rng.choice([16, 32, 64]))
    m, n, k = rng.integers(1, 300, 3)
    a = operand(rng, (m, k), "f16", bool(rng.integers(2)))
    b = operand(rng, (k, n), "f16", bool(rng.integers(2)))
    out = np.full((m, n), np.nan, np.float32)
    kernel = product.with_hints(num_stages=int(rng.integers(1, 5)))
    print(m, n, k, bm, bn, bk)
    kernel[-(-m // bm), -(-n // bn)](a, b, out, int(bm), int(bn), bk, target=MODEL)
    close(out, wide(a) @ wide(b))
