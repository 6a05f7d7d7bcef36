"""Product of a sparse matrix (compressed rows) and a vector: a warp a row, so that its lanes read side by side."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=128, requires=["len(starts) == len(y) + 1", "len(columns) == len(values)"])
def sparse_product(
    starts: simt.Slice["i64"], columns: simt.Slice["i32"], values: simt.Slice, x: simt.Slice, y: simt.DisjointSlice
):
    """y = A @ x. What `starts` and `columns` hold is data: those accesses are tested at run time."""
    row, lane = simt.warp_index(), simt.lane_index()
    if row < len(y):
        total = values.dtype(0)
        for k in range(starts[row] + lane, starts[row + 1], 32):
            total += values[k] * x[simt.i64(columns[k])]
        total = simt.warp_reduce(total)
        if lane == 0:
            y[row] = total
