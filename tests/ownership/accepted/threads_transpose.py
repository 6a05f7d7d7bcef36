"""A transpose through shared memory: a thread writes another place than it read."""

from __future__ import annotations

import numpy as np

from tileopt import simt


@simt.kernel(block=(16, 16))
def transpose(x: simt.Slice["f32", 2], out: simt.DisjointSlice["f32", 2]):
    tile_ = simt.shared((16, 17))
    row, column = simt.thread_idx(1), simt.thread_idx(0)
    i, j = simt.block_idx(1) * 16 + row, simt.block_idx(0) * 16 + column
    if i < len(x) and j < x.shape[1]:
        tile_[row, column] = x[i, j]
    simt.syncthreads()
    i, j = simt.block_idx(0) * 16 + row, simt.block_idx(1) * 16 + column
    if i < len(out) and j < out.shape[1]:
        out[i, j] = tile_[column, row]


x = np.random.default_rng().random((50, 37), np.float32)
out = np.empty((37, 50), np.float32)
transpose[3, 4](x, out)
np.testing.assert_array_equal(out, x.T)
