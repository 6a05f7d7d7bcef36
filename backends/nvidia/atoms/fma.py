"""Products by fused multiply-adds: each thread computes the elements that it holds, operands in shared memory.

What every architecture can do, for the types that its tensor cores lack.
"""

from __future__ import annotations

from tileopt.backends.nvidia.atoms.mma_sync import matmul_reference
from tileopt.dialects.target import Atom, Scope, Space

# Operand type -> accumulator types into which products are exact or rounded once.
_COMBINATIONS: dict[str, tuple[str, ...]] = {
    "f8e4m3fn": ("f16", "f32"),
    "f8e5m2": ("f16", "f32"),
    "f16": ("f16", "f32"),
    "bf16": ("bf16", "f32"),
    "f32": ("f32", "f64"),
    "f64": ("f64",),
    "i8": ("i32", "i64"),
    "u8": ("i32", "i64"),
    "i16": ("i32", "i64"),
    "i32": ("i32", "i64"),
    "i64": ("i64",),
}


def _row(operand: str, acc: str) -> Atom:
    return Atom(
        f"fma_{operand}_{acc}", (1, 1, 1), operand, operand, acc, 75, Scope.THREAD,
        a_space=Space.SHARED, b_space=Space.SHARED, reference=matmul_reference(acc, operand),
    )  # fmt: skip


FMA: tuple[Atom, ...] = tuple(_row(a, acc) for a, accumulators in _COMBINATIONS.items() for acc in accumulators)
