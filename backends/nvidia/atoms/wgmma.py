"""`wgmma`: products by a warpgroup, B in shared memory, A there or in registers. One row of data an instruction.

PTX ISA, "Asynchronous warpgroup level matrix instructions": one instruction takes 32 bytes of K. The accumulator of
m64nN is spread like that of N / 8 instructions of a warp, m16n8, over the rows of each of the four warps; A in
registers likewise. Only operands of 16 bits may lie M- or N-major.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileopt.backends.nvidia.atoms.mma_sync import PTX_NAMES, fragment, matmul_reference
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_described import stored
from tileopt.dialects.target import Atom, Scope, Space

ROWS, WARP_ROWS = 64, 16
DEPTH_BYTES = 32  # of K
ARCH = 90
PREFERENCE = 100  # above every mma.sync

FLOAT_WIDTHS = tuple(range(8, 257, 8))
INTEGER_WIDTHS = (8, 16, 24, *range(32, 257, 16))  # PTX ISA, "wgmma.mma_async": integers have fewer

# Operand, accumulator, columns.
_ROWS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("f16", "f32", FLOAT_WIDTHS),
    ("bf16", "f32", FLOAT_WIDTHS),
    ("f8e4m3fn", "f32", FLOAT_WIDTHS),
    ("f8e5m2", "f32", FLOAT_WIDTHS),
    ("tf32", "f32", FLOAT_WIDTHS),
    ("i8", "i32", INTEGER_WIDTHS),
    ("u8", "i32", INTEGER_WIDTHS),
)


@dataclass(frozen=True)
class WgmmaInstruction:
    """`types`: the instruction's type suffix. `depth`: elements of K. `packed`: elements of A in a register.
    `transposes`: operands may lie N- or M-major. `acc_word`: LLVM type of a register of the accumulator."""

    n: int
    types: str
    depth: int
    packed: int
    transposes: bool
    acc_word: str


def _row(operand: str, acc: str, n: int) -> tuple[Atom, WgmmaInstruction]:
    bits = DTYPES[stored(operand)].bits
    depth, packed = 8 * DEPTH_BYTES // bits, 32 // bits
    atom = Atom(
        f"wgmma_m64n{n}k{depth}_{operand}_{acc}",
        (ROWS, n, depth),
        operand,
        operand,
        acc,
        ARCH,
        Scope.WARPGROUP,
        a_space=Space.SHARED,
        b_space=Space.SHARED,
        asynchronous=True,
        k_major=bits != 16,
        fragments={"a": fragment((WARP_ROWS, depth), 1, packed), "acc": fragment((WARP_ROWS, 8), 1, 2)},
        preference=PREFERENCE,
        reference=matmul_reference(acc, operand),
    )
    names = ".".join(PTX_NAMES[t] for t in (acc, operand, operand))
    return atom, WgmmaInstruction(n, names, depth, packed, bits == 16, "i32" if acc == "i32" else "float")


_TABLE = [_row(operand, acc, n) for operand, acc, widths in _ROWS for n in widths]
WGMMA: tuple[Atom, ...] = tuple(atom for atom, _ in _TABLE)
INSTRUCTIONS: dict[str, WgmmaInstruction] = {atom.name: instruction for atom, instruction in _TABLE}
