"""Transpose through shared memory: rows are read and rows are written. The odd pitch keeps the banks apart."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=(32, 8), requires=["out.shape[0] == x.shape[1]", "out.shape[1] == x.shape[0]"])
def transpose(x: simt.Slice["f32", 2], out: simt.DisjointSlice["f32", 2]):
    """A block moves 32 x 32 elements, a thread four of them."""
    tile = simt.shared((32, 33))
    tx, ty = simt.thread_idx(0), simt.thread_idx(1)
    row, column = simt.block_idx(1) * 32, simt.block_idx(0) * 32
    for k in simt.static_range(0, 32, 8):
        if row + ty + k < x.shape[0] and column + tx < x.shape[1]:
            tile[ty + k, tx] = x[row + ty + k, column + tx]
    simt.barrier()
    for k in simt.static_range(0, 32, 8):
        if column + ty + k < out.shape[0] and row + tx < out.shape[1]:
            out[column + ty + k, row + tx] = tile[tx, ty + k]
