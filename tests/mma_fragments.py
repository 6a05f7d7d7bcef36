"""Who holds which element of a matrix for `mma.sync`: the formulas of the PTX ISA, shape by shape, written out.

From "Matrix Fragments for mma.m..n..k.." of the PTX ISA. Each formula takes the index of an element among those of a
lane, the lane's group (lane // 4) and its place in the group (lane % 4), and gives (row, column).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
Formula = Callable[[int, int, int], tuple[int, int]]
LANES = 32

ACC: dict[int, Formula] = {
    8: lambda i, g, t: (g, t * 2 + i),
    16: lambda i, g, t: (g if i < 2 else g + 8, t * 2 + (i & 1)),
}

# (shape, bits of an element) -> formulas of a and b.
OPERANDS: dict[tuple[str, int], tuple[Formula, Formula]] = {
    ("m16n8k8", 16): (
        lambda i, g, t: (g if i < 2 else g + 8, t * 2 + (i & 1)),
        lambda i, g, t: (t * 2 + i, g),
    ),
    ("m16n8k16", 16): (
        lambda i, g, t: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0)),
        lambda i, g, t: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
    ),
    ("m16n8k4", 32): (lambda i, g, t: (g + 8 * i, t), lambda i, g, t: (t, g)),
    ("m16n8k8", 32): (
        lambda i, g, t: (g if i in (0, 2) else g + 8, t if i in (0, 1) else t + 4),
        lambda i, g, t: (t + 4 * i, g),
    ),
    ("m8n8k4", 64): (lambda i, g, t: (g, t), lambda i, g, t: (t, g)),
    ("m16n8k4", 64): (lambda i, g, t: (g + 8 * i, t), lambda i, g, t: (t, g)),
    ("m16n8k8", 64): (
        lambda i, g, t: (g if i in (0, 2) else g + 8, t if i in (0, 1) else t + 4),
        lambda i, g, t: (t + 4 * i, g),
    ),
    ("m16n8k16", 64): (
        lambda i, g, t: (g if i % 2 == 0 else g + 8, i * 2 + t if i % 2 == 0 else i * 2 - 2 + t),
        lambda i, g, t: (i * 4 + t, g),
    ),
    ("m8n8k16", 8): (lambda i, g, t: (g, t * 4 + i), lambda i, g, t: (t * 4 + i, g)),
    ("m16n8k16", 8): (
        lambda i, g, t: (g if i < 4 else g + 8, t * 4 + (i & 3)),
        lambda i, g, t: (t * 4 + i, g),
    ),
    ("m16n8k32", 8): (
        lambda i, g, t: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (16 if i >= 8 else 0)),
        lambda i, g, t: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g),
    ),
    ("m8n8k32", 4): (lambda i, g, t: (g, t * 8 + i), lambda i, g, t: (t * 8 + i, g)),
    ("m16n8k32", 4): (
        lambda i, g, t: (g if i < 8 else g + 8, t * 8 + (i & 7)),
        lambda i, g, t: (t * 8 + i, g),
    ),
    ("m16n8k64", 4): (
        lambda i, g, t: (g if i < 8 or 16 <= i < 24 else g + 8, t * 8 + (i & 7) + (32 if i >= 16 else 0)),
        lambda i, g, t: (t * 8 + (i & 7) + (32 if i >= 8 else 0), g),
    ),
}


# "Block Scaling", both thread-ids 0: the row (column) whose scales a lane gives, by group and place; None: of none.
SCALED_ROW: Callable[[int, int], int | None] = lambda g, t: g + 8 * t if t < 2 else None  # noqa: E731
SCALED_COLUMN: Callable[[int, int], int | None] = lambda g, t: g if t == 0 else None  # noqa: E731


def formulas(m: int, n: int, k: int, bits: int) -> dict[str, Formula]:
    """The formulas of a, b and the accumulator, by m, n, k and the bits of an operand's element."""
    a, b = OPERANDS[f"m{m}n{n}k{k}", bits]
    return {"a": a, "b": b, "acc": ACC[m]}


STORED: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32, "f64": np.float64,
    "i8": np.int8, "u8": np.uint8, "i4": np.int8, "u4": np.uint8, "i32": np.int32,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip


def random_matrix(rng: np.random.Generator, shape: tuple[int, int], kind: str) -> Array:
    """Numbers of a type; those of tf32 have no bits that it drops."""
    if kind in ("i4", "u4"):
        low = -8 if kind == "i4" else 0
        return rng.integers(low, low + 16, shape).astype(STORED[kind])
    if kind in ("i8", "u8", "i32"):
        low = {"i8": -128, "u8": 0, "i32": -1000}[kind]
        return rng.integers(low, {"i8": 128, "u8": 256, "i32": 1000}[kind], shape).astype(STORED[kind])
    found = rng.standard_normal(shape).astype(STORED[kind])
    return (found.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) if kind == "tf32" else found


def held(matrix: Array, formula: Formula, count: int) -> Array:
    """(lanes, count): the elements that each lane has."""
    out = np.zeros((LANES, count), matrix.dtype)
    for lane in range(LANES):
        for i in range(count):
            out[lane, i] = matrix[formula(i, lane // 4, lane % 4)]
    return out


def scattered(elements: Array, formula: Formula, shape: tuple[int, int]) -> Array:
    """The matrix of which lanes hold these elements."""
    out = np.zeros(shape, elements.dtype)
    for lane in range(LANES):
        for i in range(elements.shape[1]):
            out[formula(i, lane // 4, lane % 4)] = elements[lane, i]
    return out


def words_of(elements: Array, kind: str) -> Array:
    """(lanes, words): elements packed lowest first, as u32, or as f64 one by one."""
    if kind == "f64":
        return elements
    if kind in ("i4", "u4"):
        nibbles = elements.astype(np.uint8) & 15
        elements = (nibbles[:, ::2] | nibbles[:, 1::2] << 4).astype(np.uint8)
    return np.ascontiguousarray(elements).view(np.uint8).view(np.uint32)
