"""A relation on an argument that a launch breaks."""

import numpy as np

from tileopt import simt


@simt.kernel(block=64, requires=["n * n >= n + 1"])
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1], n: int):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


k[1](np.ones(64, np.float32), np.empty(64, np.float32), 1)  # error: launch/condition: n * n is 1, n + 1 is 2
