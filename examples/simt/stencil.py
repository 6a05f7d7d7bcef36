"""Five-point stencil: a block's 16 x 16 elements and their halo are read once, into shared memory."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=(16, 16), requires=["len(x) == len(out)", "x.shape[1] == out.shape[1]"])
def diffuse(x: simt.Slice["f32", 2], out: simt.DisjointSlice["f32", 2], rate: float):
    """out = x + rate * (the sum of the four neighbours - 4 x); what lies outside is 0."""
    tile = simt.shared((18, 18))
    for k in range(simt.thread_rank(), 18 * 18, 256):
        row, column = simt.block_idx(1) * 16 + k // 18 - 1, simt.block_idx(0) * 16 + k % 18 - 1
        value = 0.0
        if 0 <= row < len(x) and 0 <= column < x.shape[1]:
            value = x[row, column]
        tile[k // 18, k % 18] = value
    simt.barrier()
    row, column = simt.thread_index_2d()
    if row < len(out) and column < out.shape[1]:
        i, j = simt.thread_idx(1) + 1, simt.thread_idx(0) + 1
        around = tile[i - 1, j] + tile[i + 1, j] + tile[i, j - 1] + tile[i, j + 1]
        out[row, column] = tile[i, j] + rate * (around - 4.0 * tile[i, j])
