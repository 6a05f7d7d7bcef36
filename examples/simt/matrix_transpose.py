"""Transpose of 16-bit elements by matrix instructions: `ldmatrix` reads 8x8 blocks, `stmatrix` writes them turned."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=32, grid_rank=2, requires=["len(out) == x.shape[1]", "out.shape[1] == len(x)"])
def matrix_transpose(x: simt.Slice["f16", 2], out: simt.DisjointSlice["f16", 2]):
    """A warp moves 16 x 16 elements."""
    before, after = simt.shared((16, 16), "f16"), simt.shared((16, 16), "f16")
    lane, row, column = simt.lane_index(), simt.block_idx(1) * 16, simt.block_idx(0) * 16
    i, half = lane % 16, lane // 16 * 8
    for k in range(8):
        if row + i < len(x) and column + half + k < x.shape[1]:
            before[i, half + k] = x[row + i, column + half + k]
        else:
            before[i, half + k] = 0.0
    simt.syncwarp()
    words = simt.ldmatrix(before, (i, half), 4)  # blocks at (0, 0), (8, 0), (0, 8), (8, 8)
    simt.stmatrix(after, (lane // 16 * 8 + lane % 8, lane // 8 % 2 * 8), words, trans=True)
    simt.syncwarp()
    for k in range(8):
        if column + i < len(out) and row + half + k < out.shape[1]:
            out[column + i, row + half + k] = after[i, half + k]
