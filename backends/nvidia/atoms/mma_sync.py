"""`mma.sync`: products by one warp with all operands in registers. One row of data an instruction.

Every instruction of the family spreads its operands by the same rule: a 32-bit register holds `P` elements side by side
along K (A and B) or N (the accumulator), the four lanes of a group take one register each, the eight groups take rows
(A, accumulator) or columns (B), and further registers take the other half of the rows, then the other half of K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_described import stored
from tileopt.dialects.layout import Coord
from tileopt.dialects.target import Atom, Fragment, Scope

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

GROUP_BITS = 3  # lanes 4g to 4g+3 are group g


@dataclass(frozen=True)
class MmaInstruction:
    """How an atom is written in PTX: operands are lists of registers, elements packed lowest first.

    `a`, `b`, `acc`: registers of each operand. `word`, `acc_word`: LLVM type of one register of a and b, of acc.
    `packed`, `acc_packed`: elements in one register.
    """

    ptx: str
    a: int
    b: int
    acc: int
    word: str
    acc_word: str
    packed: int
    acc_packed: int


def fragment(shape: Coord, axis: int, packed: int) -> Fragment:
    """`axis` is the one along which a register's elements and a group's lanes lie; `packed`: elements in a register."""
    other = 1 - axis
    reach = [1, 1]

    def basis(which: int) -> Coord:
        out = (reach[0], 0) if which == 0 else (0, reach[1])
        reach[which] *= 2
        return out

    regs = [basis(axis) for _ in range(packed.bit_length() - 1)]
    lanes = [basis(axis), basis(axis)] + [basis(other) for _ in range(GROUP_BITS)]
    while reach[other] < shape[other]:
        regs.append(basis(other))
    while reach[axis] < shape[axis]:
        regs.append(basis(axis))
    return Fragment(shape, tuple(regs), tuple(lanes))


def matmul_reference(dtype: str, operand: str | None = None) -> Callable[[Array, Array, Array], Array]:
    """`acc + a @ b`, summed without loss and rounded once to the accumulator's type. `operand`: the operands' type,
    where it is not that of the arrays."""

    def reference(a: Array, b: Array, acc: Array) -> Array:
        import numpy as np

        if operand == "tf32":
            a, b = as_tf32(a), as_tf32(b)
        if operand == "u8":
            a, b = a.view(np.uint8), b.view(np.uint8)
        wide = np.float64 if DTYPES[dtype].is_float else np.int64
        total: Array = acc.astype(wide) + a.astype(wide) @ b.astype(wide)
        return total.astype(DTYPES[dtype].numpy)

    return reference


def as_tf32(values: Array) -> Array:
    """f32 as units that multiply tf32 read it: without the 13 lowest bits of the mantissa."""
    import numpy as np

    kept: Array = np.ascontiguousarray(values, np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    return kept.view(np.float32)


# PTX's names of our element types.
PTX_NAMES = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "i8": "s8", "i32": "s32"}
PTX_NAMES |= {"f8e4m3fn": "e4m3", "f8e5m2": "e5m2", "tf32": "tf32", "u8": "u8"}

# (m, n, k), a and b, accumulator, least architecture.
_ROWS: tuple[tuple[tuple[int, int, int], str, str, int], ...] = (
    ((16, 8, 8), "f16", "f32", 75),
    ((16, 8, 8), "f16", "f16", 75),
    ((8, 8, 16), "i8", "i32", 75),
    ((8, 8, 16), "u8", "i32", 75),
    ((16, 8, 16), "f16", "f32", 80),
    ((16, 8, 16), "f16", "f16", 80),
    ((16, 8, 16), "bf16", "f32", 80),
    ((16, 8, 32), "i8", "i32", 80),
    ((16, 8, 32), "u8", "i32", 80),
    ((16, 8, 8), "tf32", "f32", 80),
    ((8, 8, 4), "f64", "f64", 80),
    ((16, 8, 4), "f64", "f64", 90),
    ((16, 8, 8), "f64", "f64", 90),  # k16 needs so many registers at once that large tiles spill
    ((16, 8, 32), "f8e4m3fn", "f32", 89),
    ((16, 8, 32), "f8e5m2", "f32", 89),
)


def _packed(dtype: str) -> int:
    return max(1, 32 // DTYPES[stored(dtype)].bits)


def _row(shape: tuple[int, int, int], operand: str, acc: str, arch: int) -> tuple[Atom, MmaInstruction]:
    m, n, k = shape
    name = f"mma_m{m}n{n}k{k}_{operand}_{acc}"
    # The accumulator's elements lie in pairs side by side, whatever its type.
    fragments = {
        "a": fragment((m, k), 1, _packed(operand)),
        "b": fragment((k, n), 0, _packed(operand)),
        "acc": fragment((m, n), 1, 2),
    }
    registers = {role: 1 << len(f.regs) for role, f in fragments.items()}
    packed, acc_packed = _packed(operand), _packed(acc)
    word = "double" if operand == "f64" else "i32"
    acc_word = {"f32": "float", "f64": "double"}.get(acc, "i32")
    d, ab = PTX_NAMES[acc], PTX_NAMES[operand]
    ptx = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{d}.{ab}.{ab}.{d}"
    instruction = MmaInstruction(
        ptx,
        registers["a"] // packed,
        registers["b"] // packed,
        registers["acc"] // acc_packed,
        word,
        acc_word,
        packed,
        acc_packed,
    )
    atom = Atom(
        name, shape, operand, operand, acc, arch, Scope.WARP,
        fragments=fragments, preference=10 + k + m // 16, reference=matmul_reference(acc, operand),
    )  # fmt: skip
    return atom, instruction


_TABLE = [_row(*row) for row in _ROWS]
MMA_SYNC: tuple[Atom, ...] = tuple(atom for atom, _ in _TABLE)
INSTRUCTIONS: dict[str, MmaInstruction] = {atom.name: instruction for atom, instruction in _TABLE}
