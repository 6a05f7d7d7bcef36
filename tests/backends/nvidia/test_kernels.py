"""Tile kernels through the whole pipeline for a GPU, and what comes of them run by the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from llvm_simulator import Kernel

import tileopt
from tileopt import tile
from tileopt.dialects.contracts import ArraySpec

Array = np.ndarray[Any, Any]


@tile.kernel
def softmax(x: tile.In, out: tile.Out, COLUMNS: tile.Const[int]):
    row = tile.bid(0)
    values = tile.load(x, (row, 0), (1, COLUMNS), padding="-inf").astype(tile.f32)
    shifted = tile.exp(values - tile.max(values, axis=1, keepdims=True))
    tile.store(out, (row, 0), (shifted / tile.sum(shifted, axis=1, keepdims=True)).astype(out.dtype))


@tile.kernel
def matmul(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
    tile.store(out, (i, j), acc.astype(out.dtype))


@tile.kernel
def attention(
    q: tile.In, k: tile.In, v: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], D: tile.Const[int]
):
    i = tile.bid(0)
    queries = tile.load(q, (i, 0), (BM, D))
    top = tile.full((BM,), float("-inf"), tile.f32)
    total = tile.zeros((BM,), tile.f32)
    acc = tile.zeros((BM, D), tile.f32)
    for j in range(tile.cdiv(k.shape[0], BN)):
        keys = tile.load(k, (j, 0), (BN, D))
        scores = tile.mma(queries, keys.T, tile.zeros((BM, BN), tile.f32))
        columns = j * BN + tile.arange(BN)
        scores = tile.where(columns[None, :] < k.shape[0], scores, float("-inf"))
        new_top = tile.maximum(top, tile.max(scores, axis=1))
        weights = tile.exp2(scores - new_top[:, None])
        fade = tile.exp2(top - new_top)
        total = total * fade + tile.sum(weights, axis=1)
        values = tile.load(v, (j, 0), (BN, D))
        acc = tile.mma(weights.astype(v.dtype), values, acc * fade[:, None])
        top = new_top
    tile.store(out, (i, 0), (acc / total[:, None]).astype(out.dtype))


def spec(array: Array, dtype: str) -> ArraySpec:
    """The contract of a contiguous array whose rows start at multiples of 16 bytes."""
    div = tuple(min(16, n & -n) for n in array.shape)
    return ArraySpec(dtype, array.ndim, 16, array.ndim - 1, div, (*(d for d in div[1:]), 1), True)


def run(
    kernel: Any, target: str, grid: tuple[int, ...], arrays: dict[str, tuple[Array, str]], **constants: int
) -> Kernel:
    compiled = tileopt.compile(kernel, target, **{n: spec(a, d) for n, (a, d) in arrays.items()}, **constants)
    program = Kernel(compiled.llvm)
    arguments = [v for a, _ in arrays.values() for v in (a, *a.shape, *(s // a.itemsize for s in a.strides))]
    program.run(arguments, grid, compiled.report["threads"], compiled.report["shared_bytes"])
    return program


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_89"])
@pytest.mark.parametrize("columns", [200, 1000])
def test_softmax(target: str, columns: int) -> None:
    x = np.random.default_rng(1).normal(size=(3, columns)).astype(np.float32)
    out = np.zeros_like(x)
    run(softmax, target, (3,), {"x": (x, "f32"), "out": (out, "f32")}, COLUMNS=1024)
    wide = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, wide / wide.sum(axis=1, keepdims=True), rtol=2e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("target", "dtype", "instruction"),
    [
        ("sm_75", "f16", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
        ("sm_80", "f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_80", "bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("sm_80", "f32", None),
        ("sm_89", "f8e4m3fn", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
    ],
)
@pytest.mark.parametrize("shape", [(64, 64, 64), (40, 72, 56)], ids=str)
def test_matrix_product(target: str, dtype: str, instruction: str | None, shape: tuple[int, int, int]) -> None:
    from tileopt.dialects.dtypes import DTYPES

    m, n, k = shape
    random = np.random.default_rng(1)
    a, b = (random.integers(-2, 3, s).astype(DTYPES[dtype].numpy) for s in ((m, k), (k, n)))
    out = np.full((m, n), np.nan, np.float32)
    arrays = {"a": (a, dtype), "b": (b, dtype), "out": (out, "f32")}
    program = run(matmul, target, (-(-m // 32), -(-n // 32)), arrays, BM=32, BN=32, BK=32)
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))
    assert instruction is None or any(name.startswith(instruction) for name in program.count)


@pytest.mark.parametrize("target", ["sm_80", "sm_89"])
@pytest.mark.parametrize("length", [64, 72])
def test_attention(target: str, length: int) -> None:
    random = np.random.default_rng(1)
    q, k, v = (random.normal(size=(n, 32)).astype(np.float16) for n in (32, length, length))
    out = np.zeros((32, 32), np.float16)
    arrays = {"q": (q, "f16"), "k": (k, "f16"), "v": (v, "f16"), "out": (out, "f16")}
    run(attention, target, (1,), arrays, BM=32, BN=32, D=32)
    scores = np.exp2(q.astype(np.float64) @ k.T.astype(np.float64))
    want = scores / scores.sum(axis=1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=4e-3, atol=4e-3)
