"""The rows of tcgen05.mma against the manual, and fragments of accumulators against the lanes that a warp reaches."""

from __future__ import annotations

import pytest

from tileopt.backends.nvidia.accumulators import WORDS, runs
from tileopt.backends.nvidia.atoms.tcgen05 import INSTRUCTIONS, TCGEN05
from tileopt.backends.nvidia.targets import nvidia_target
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_accumulator import check_rows
from tileopt.dialects.gpu_described import stored
from tileopt.dialects.target import Atom, Scope, Space
from tileopt.passes.layout.product_layouts import accumulator_layout

# PTX ISA, "Instruction descriptor": (accumulator's type in bits 4-5, operands' in 7-9 and 10-12) and the kind.
CODES = {
    "f16": (1, 0, "f16"), "bf16": (1, 1, "f16"), "tf32": (1, 2, "tf32"), "f8e4m3fn": (1, 0, "f8f6f4"),
    "f8e5m2": (1, 1, "f8f6f4"), "u8": (2, 0, "i8"), "i8": (2, 1, "i8"),
}  # fmt: skip


@pytest.mark.parametrize("atom", TCGEN05, ids=lambda atom: atom.name)
def test_instruction_is_the_manuals(atom: Atom) -> None:
    m, n, k = atom.shape
    assert m == 128 and n in range(16, 257, 16) and k * DTYPES[stored(atom.a)].bits == 256
    assert (atom.scope, atom.acc_space) == (Scope.ELECTED, Space.TENSOR)
    acc, operand, kind = CODES[atom.a]
    found = INSTRUCTIONS[atom.name]
    assert found.kind == kind and found.transposes is (DTYPES[stored(atom.a)].bits == 16) is not atom.k_major
    for a_major in (False, True):
        for b_major in (False, True):
            bits = found.descriptor(a_major, b_major)
            fields = [
                (bits >> at) & ((1 << size) - 1) for at, size in ((0, 4), (4, 2), (6, 1), (7, 3), (10, 3), (13, 2))
            ]
            assert fields == [0, acc, 0, operand, operand, 0]
            assert [(bits >> at) & 1 for at in (15, 16)] == [a_major, b_major]
            assert (bits >> 17 & 63, bits >> 24 & 31, bits >> 29) == (n // 8, m // 16, 0)


def test_a_known_descriptor() -> None:
    """128 x 128 of bf16 into f32, both with K side by side."""
    assert INSTRUCTIONS["tcgen05_m128n128k16_bf16_f32"].descriptor(False, False) == 0x8200490


def test_which_gpus_have_them() -> None:
    def kinds(name: str) -> set[str]:
        return {INSTRUCTIONS[a.name].kind for a in nvidia_target(name).atoms if a.name in INSTRUCTIONS}

    assert kinds("sm_100a") == kinds("sm_110a") == {"f16", "tf32", "f8f6f4", "i8"}
    assert kinds("sm_103a") == {"f16", "tf32", "f8f6f4"}
    for other in ("sm_90a", "sm_100", "sm_120a"):
        assert not kinds(other)


SHAPES = [(128, 16, 4), (128, 16, 8), (128, 256, 8), (256, 96, 8), (256, 64, 4), (384, 48, 8), (512, 32, 16)]


@pytest.mark.parametrize(("m", "n", "warps"), SHAPES)
def test_each_warp_holds_what_it_can_read(m: int, n: int, warps: int) -> None:
    """Warp w reaches 32 lanes from 32 (w mod 4) on; element (i, j) is lane i mod 128, column (i / 128) n + j."""
    layout = accumulator_layout((m, n), warps)
    check_rows(layout)
    assert not layout.has_phantoms and not layout.replica_warps
    seen = set()
    for _, lane, warp, (row, column) in layout.elements():
        assert row % 128 == 32 * (warp % 4) + lane
        seen.add((row, column))
    assert len(seen) == m * n == layout.registers * 32 * warps
    # The runs name the columns of each register, from the first of the thread.
    columns = [row // 128 * n + column for row, column in layout.register_coords]
    named = [column + at for _, column, count in runs(layout) for at in range(count)]
    assert named == columns and all(count <= WORDS and count & (count - 1) == 0 for _, _, count in runs(layout))
    assert [first for first, _, _ in runs(layout)] == sorted({first for first, _, _ in runs(layout)})
