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


def fits_order(op: tile.Mma, atom: Atom) -> bool:
    """Whether the operands that the atom reads from shared memory lie there as it can read them. A computed left
    operand need not lie there at all."""
    if not atom.k_major:
        return True
    from_registers = "a" in atom.fragments and is_computed(op.a)
    return fastest_axis(op.b) == 0 and (from_registers or fastest_axis(op.a) == 1)
