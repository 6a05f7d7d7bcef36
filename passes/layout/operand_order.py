"""Along which axis an operand of a product lies side by side in shared memory.

Staged tiles follow their arrays, and what is computed lies row by row; transposes and reshapes only look at it
otherwise.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from tileopt.dialects import tile
from tileopt.dialects.target import Atom
from tileopt.dialects.tile_types import tile_shape
from tileopt.passes.layout.access import memory_order


def fastest_axis(value: SSAValue) -> int | None:
    """The axis of a tile whose elements will lie side by side in shared memory; None where a reshape hides it."""
    op = value.owner
    if isinstance(op, tile.Load):
        return memory_order(op.view)[-1]
    if isinstance(op, tile.Transpose):
        source = fastest_axis(op.source)
        return None if source is None else [int(a) for a in op.permutation.get_values()].index(source)
    if isinstance(op, tile.Reshape):
        source, shape = fastest_axis(op.source), tile_shape(op.result.type)
        kept, places = ([a for a, n in enumerate(s) if n != 1] for s in (tile_shape(op.source.type), shape))
        if source not in kept or len(kept) != len(places):
            return None
        return places[kept.index(source)]
    return len(tile_shape(value.type)) - 1


def is_computed(value: SSAValue) -> bool:
    """Whether a tile comes out of registers, however it is turned."""
    op = value.owner
    while isinstance(op, tile.Transpose | tile.Reshape):
        op = op.source.owner
    return not isinstance(op, tile.Load | tile.LoadBuffer | tile.Unstage)


def fits_order(op: tile.Mma, atom: Atom, *, swapped: bool = False, turned: bool = False) -> bool:
    """Whether the operands that the atom reads from shared memory lie there as it can read them; `swapped`: of the
    product of b^T and a^T. Where the atom works on registers, a left operand may lie anyhow, and threads may have
    `turned` a right one on its way."""
    if not atom.k_major:
        return True
    registers = "a" in atom.fragments
    in_order = right_lies(op, swapped=swapped) or (turned and registers)
    return in_order and (registers or left_lies(op, swapped=swapped))


def left_lies(op: tile.Mma, *, swapped: bool = False) -> bool:
    """Whether the left operand has K side by side in shared memory."""
    left, k_axis = (op.b, 0) if swapped else (op.a, 1)
    return fastest_axis(left) == k_axis


def right_lies(op: tile.Mma, *, swapped: bool = False) -> bool:
    """Whether the right operand has K side by side in shared memory."""
    right, k_axis = (op.a, 1) if swapped else (op.b, 0)
    return fastest_axis(right) == k_axis
