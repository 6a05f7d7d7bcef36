"""`wgmma`: products by a warpgroup, B in shared memory, A there or in registers. One row of data an instruction.

PTX ISA, "Asynchronous warpgroup level matrix instructions": the accumulator of m64nNk16 is spread like that of N / 8
instructions m16n8k16 over the rows of each of the four warps; A in registers likewise.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileopt.backends.nvidia.atoms.mma_sync import fragment, matmul_reference
from tileopt.dialects.target import Atom, Scope, Space

ROWS, WARP_ROWS = 64, 16
WIDTHS = tuple(range(8, 257, 8))
ARCH = 90
PREFERENCE = 100  # above every mma.sync


@dataclass(frozen=True)
class WgmmaInstruction:
    """`types`: the instruction's type suffix. `depth`: elements of K. `transposes`: operands may lie N- or M-major."""

    n: int
    types: str
    depth: int
    transposes: bool


def _rows() -> tuple[list[Atom], dict[str, WgmmaInstruction]]:
    atoms: list[Atom] = []
    instructions: dict[str, WgmmaInstruction] = {}
    for dtype in ("f16", "bf16"):
        depth = 16
        for n in WIDTHS:
            name = f"wgmma_m64n{n}k{depth}_{dtype}_f32"
            atoms.append(
                Atom(
                    name,
                    (ROWS, n, depth),
                    dtype,
                    dtype,
                    "f32",
                    ARCH,
                    Scope.WARPGROUP,
                    a_space=Space.SHARED,
                    b_space=Space.SHARED,
                    asynchronous=True,
                    fragments={"a": fragment((WARP_ROWS, depth), 1, 2), "acc": fragment((WARP_ROWS, 8), 1, 2)},
                    preference=PREFERENCE,
                    reference=matmul_reference("f32"),
                )
            )
            instructions[name] = WgmmaInstruction(n, f"f32.{dtype}.{dtype}", depth, True)
    return atoms, instructions


_ATOMS, INSTRUCTIONS = _rows()
WGMMA: tuple[Atom, ...] = tuple(_ATOMS)
