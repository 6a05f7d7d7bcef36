"""A kernel called as a function."""

import numpy as np

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


k(np.ones(64, np.float32), np.empty(64, np.float32))  # error: launch/no-grid: k[(blocks,)](...)
