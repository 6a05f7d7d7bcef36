"""Products of tiles of any type, in the forms in which their operands can lie."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tileopt import tile

Array = np.ndarray[Any, Any]

NUMPY: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "i8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
}


@tile.kernel
def product(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    """a of (M, K) by b of (K, N)."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), out.dtype)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
    tile.store(out, (i, j), acc)


@tile.kernel
def product_nt(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    """a of (M, K) by the transpose of b of (N, K)."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), out.dtype)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (j, k), (BN, BK)).T, acc)
    tile.store(out, (i, j), acc)


@tile.kernel
def product_tf32(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    """As `product`, f32 read as tf32."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc, precision="tf32")
    tile.store(out, (i, j), acc)


@tile.kernel
def tf32_nt(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    """As `product_nt`, f32 read as tf32."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (j, k), (BN, BK)).T, acc, precision="tf32")
    tile.store(out, (i, j), acc)


@tile.kernel
def doubled_tf32(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    """As `product_tf32` of a doubled in registers and the transpose of b."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        left = tile.load(a, (i, k), (BM, BK))
        acc = tile.mma(left + left, tile.load(b, (j, k), (BN, BK)).T, acc, precision="tf32")
    tile.store(out, (i, j), acc)


@tile.kernel
def doubled_nt(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    """As `product_nt`, a doubled in registers first."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), out.dtype)
    for k in range(tile.cdiv(a.shape[1], BK)):
        left = tile.load(a, (i, k), (BM, BK))
        acc = tile.mma(left + left, tile.load(b, (j, k), (BN, BK)).T, acc)
    tile.store(out, (i, j), acc)


@tile.kernel
def doubled_right(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    """As `product`, b doubled in registers first."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), out.dtype)
    for k in range(tile.cdiv(a.shape[1], BK)):
        right = tile.load(b, (k, j), (BK, BN))
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), right + right, acc)
    tile.store(out, (i, j), acc)


def accumulator(kind: str) -> str:
    return {"f64": "f64", "i8": "i32", "u8": "i32"}.get(kind, "f32")


def operand(
    rng: np.random.Generator, shape: tuple[int, int], kind: str, column_major: bool = False, small: bool = False
) -> Array:
    """Numbers of all sizes, or (`small`) those whose doubles the type holds as well."""
    wanted = shape[::-1] if column_major else shape
    low, high = {"i8": (-128, 128), "u8": (0, 256)}.get(kind, (0, 0))
    made = rng.integers(low, high, wanted) if high else np.clip(rng.standard_normal(wanted), -8, 8)
    if high and small:
        made //= 2
    made = made.astype(NUMPY[kind])
    return made.T if column_major else made


def blocks_of(shape: tuple[int, int], block: tuple[int, int, int]) -> tuple[int, int]:
    return -(-shape[0] // block[0]), -(-shape[1] // block[1])
