"""In which order the rows of a warpgroup's product lie in registers, where the left operand is read across its rows.

Whatever row of the matrix stands for a row of the instruction, the accumulator has it in the same place. So where the
left operand lies with its rows side by side in memory, they are dealt out so that a thread's two rows are neighbours,
which one access reads, and a warp's accesses meet all banks.
"""

from __future__ import annotations

from tileopt.dialects.layout import Bases, Layout

# Bytes of an element -> row of the instruction (bit by bit) -> row of the matrix. Rows 1, 2 and 4 are lanes' (four
# further lanes take steps of K), 8 is a thread's second one, 16 and 32 are warps'.
ORDERS: dict[int, dict[int, int]] = {
    # Rows 0, 2, 16 and 18 of four steps of K, in pairs, are all banks once under a swizzle of 128 bytes.
    4: {1: 2, 2: 16, 4: 4, 8: 1, 16: 8},
    # Sixteen rows are 16 bytes, which `ldmatrix` turns in pairs.
    1: {1: 2, 2: 4, 4: 8, 8: 1},
}


def across(layout: Layout, size: int) -> Layout:
    """The layout of a left operand or an accumulator with its rows in the order for elements of `size` bytes."""
    order = ORDERS.get(size, {})

    def moved(bases: Bases) -> Bases:
        return tuple((order.get(basis[0], basis[0]), basis[1]) for basis in bases)

    return Layout(layout.shape, moved(layout.regs), moved(layout.lanes), moved(layout.warps))
