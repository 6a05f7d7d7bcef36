"""`tcgen05.mma`: products that one thread issues, operands in shared memory, the accumulator in tensor memory.

PTX ISA, "Tensorcore 5th generation family instructions": one instruction of `cta_group::1` with M = 128 takes 32 bytes
of K and 16 to 256 columns by 16 ("Matrix Shape"); row i of the accumulator is lane i of tensor memory, a column a
column ("Data path layout D"). Its form is told by an instruction descriptor of 32 bits ("Instruction descriptor"): the
accumulator's type in bits 4-5 (1: f32, 2: s32), the operands' in 7-9 and 10-12, 15 and 16 set where they lie M- or
N-major, N / 8 in bits 17-22, M / 16 in bits 24-28. Only operands of 16 bits may lie M- or N-major.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileopt.backends.nvidia.atoms.mma_sync import matmul_reference
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_described import K_BYTES, depth
from tileopt.dialects.gpu_described import stored as stored_as
from tileopt.dialects.gpu_tensor import LANES
from tileopt.dialects.target import Atom, Scope, Space

ARCH = 100
PREFERENCE = 100  # above every mma.sync
WIDTHS = tuple(range(16, 257, 16))
_ACCUMULATORS = {"f32": 1, "i32": 2}

# Operand, accumulator, kind, the operand's code.
_ROWS: tuple[tuple[str, str, str, int], ...] = (
    ("f16", "f32", "f16", 0),
    ("bf16", "f32", "f16", 1),
    ("tf32", "f32", "tf32", 2),
    ("f8e4m3fn", "f32", "f8f6f4", 0),
    ("f8e5m2", "f32", "f8f6f4", 1),
    ("u8", "i32", "i8", 0),
    ("i8", "i32", "i8", 1),
)


@dataclass(frozen=True)
class Tcgen05Instruction:
    """`kind`: the instruction's. `depth`: elements of K. `transposes`: operands may lie M- or N-major."""

    n: int
    kind: str
    depth: int
    transposes: bool
    code: int
    acc_code: int

    def descriptor(self, a_major: bool, b_major: bool) -> int:
        """The instruction descriptor; `a_major`, `b_major`: whether an operand lies M- or N-major."""
        types = self.acc_code << 4 | self.code << 7 | self.code << 10
        return types | a_major << 15 | b_major << 16 | (self.n // 8) << 17 | (LANES // 16) << 24


def _row(operand: str, acc: str, kind: str, code: int, n: int) -> tuple[Atom, Tcgen05Instruction]:
    bits, k = DTYPES[stored_as(operand)].bits, depth(operand)
    assert k * bits == 8 * K_BYTES
    atom = Atom(
        f"tcgen05_m{LANES}n{n}k{k}_{operand}_{acc}",
        (LANES, n, k),
        operand,
        operand,
        acc,
        ARCH,
        Scope.ELECTED,
        a_space=Space.SHARED,
        b_space=Space.SHARED,
        acc_space=Space.TENSOR,
        asynchronous=True,
        k_major=bits != 16,
        preference=PREFERENCE,
        reference=matmul_reference(acc, operand),
    )
    return atom, Tcgen05Instruction(n, kind, k, bits == 16, code, _ACCUMULATORS[acc])


_TABLE = [_row(*row, n) for row in _ROWS for n in WIDTHS]
TCGEN05: tuple[Atom, ...] = tuple(atom for atom, _ in _TABLE)
FLOATS: tuple[Atom, ...] = tuple(atom for atom in TCGEN05 if atom.acc == "f32")  # sm_103 has no kind::i8
INSTRUCTIONS: dict[str, Tcgen05Instruction] = {atom.name: instruction for atom, instruction in _TABLE}
