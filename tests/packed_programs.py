"""Kernels on packed values, and what they compute."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tileopt import tile

Array = np.ndarray[Any, Any]


def unpacked(packed: Array, kind: str, axis: int = -1) -> Array:
    """The values of packed bytes along an axis, in f64."""
    codes = np.stack([packed & 15, packed >> 4], -1) if axis in (-1, packed.ndim - 1) else None
    if codes is None:
        moved = np.moveaxis(packed, axis, -1)
        return np.moveaxis(unpacked(np.ascontiguousarray(moved), kind), -1, axis)
    flat = codes.reshape(*packed.shape[:-1], 2 * packed.shape[-1]).astype(np.uint8)
    if kind == "f4e2m1fn":
        return flat.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    return flat.astype(np.float64) - (16.0 * (flat > 7) if kind == "i4" else 0.0)


@tile.kernel
def unpack_rows(
    x: tile.In, out: tile.Out, KIND: tile.Const[str], AXIS: tile.Const[int], M: tile.Const[int], N: tile.Const[int]
):
    i, j = tile.bid(0), tile.bid(1)
    tile.store(out, (i, j), tile.unpack(tile.load(x, (i, j), (M, N)), KIND, axis=AXIS).astype(out.dtype))


@tile.kernel
def pack_rows(
    x: tile.In, out: tile.Out, KIND: tile.Const[str], AXIS: tile.Const[int], M: tile.Const[int], N: tile.Const[int]
):
    i, j = tile.bid(0), tile.bid(1)
    tile.store(out, (i, j), tile.pack(tile.load(x, (i, j), (M, N)), KIND, axis=AXIS))


@tile.kernel
def repeat_rows(
    x: tile.In, out: tile.Out, COUNT: tile.Const[int], AXIS: tile.Const[int], M: tile.Const[int], N: tile.Const[int]
):
    tile.store(out, (0, 0), tile.repeat(tile.load(x, (0, 0), (M, N)), COUNT, axis=AXIS))


@tile.kernel
def weights_left(
    w: tile.In, x: tile.In, out: tile.Out, KIND: tile.Const[str], BM: tile.Const[int], BN: tile.Const[int],
    BK: tile.Const[int],
):  # fmt: skip
    """w of (M, K / 2) bytes by x of (K, N)."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(x.shape[0], BK)):
        left = tile.unpack(tile.load(w, (i, k), (BM, BK // 2)), KIND).astype(x.dtype)
        acc = tile.mma(left, tile.load(x, (k, j), (BK, BN)), acc)
    tile.store(out, (i, j), acc)


@tile.kernel
def weights_right(
    x: tile.In, w: tile.In, s: tile.In, out: tile.Out, KIND: tile.Const[str], GROUP: tile.Const[int],
    BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int],
):  # fmt: skip
    """x of (M, K) by the transpose of w of (N, K / 2) bytes, each group along K by a scale of s of (N, K / GROUP)."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(x.shape[1], BK)):
        scale = tile.repeat(tile.load(s, (j, k), (BN, BK // GROUP)), GROUP)
        right = tile.unpack(tile.load(w, (j, k), (BN, BK // 2)), KIND) * scale
        acc = tile.mma(tile.load(x, (i, k), (BM, BK)), right.T, acc)
    tile.store(out, (i, j), acc)


@tile.kernel
def packed_along_rows(
    x: tile.In, w: tile.In, out: tile.Out, KIND: tile.Const[str], BM: tile.Const[int], BN: tile.Const[int],
    BK: tile.Const[int],
):  # fmt: skip
    """x of (M, K) by w of (K / 2, N) bytes."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(x.shape[1], BK)):
        right = tile.unpack(tile.load(w, (k, j), (BK // 2, BN)), KIND, axis=0).astype(x.dtype)
        acc = tile.mma(tile.load(x, (i, k), (BM, BK)), right, acc)
    tile.store(out, (i, j), acc)


@tile.kernel
def plain_f4(x: tile.In, w: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    """Both of f4e2m1fn, (M, K / 2) and (N, K / 2) bytes."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(2 * x.shape[1], BK)):
        left = tile.unpack(tile.load(x, (i, k), (BM, BK // 2)), tile.f4e2m1fn)
        right = tile.unpack(tile.load(w, (j, k), (BN, BK // 2)), tile.f4e2m1fn)
        acc = tile.mma(left, right.T, acc)
    tile.store(out, (i, j), acc)
