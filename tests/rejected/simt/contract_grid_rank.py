"""A grid of two axes for a kernel that counts one."""

import numpy as np

from tileopt import simt


@simt.kernel(block=64, grid_rank=1)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


k[2, 2](np.ones(64, np.float32), np.empty(64, np.float32))  # error: launch/grid-rank: allows 1
