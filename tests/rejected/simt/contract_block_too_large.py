"""A block above max_block."""

import numpy as np

from tileopt import simt


@simt.kernel(max_block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


k[1, 128](np.ones(64, np.float32), np.empty(64, np.float32))  # error: launch/block: allows 64
