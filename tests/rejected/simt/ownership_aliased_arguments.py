"""One array, owned and read in one launch."""

import numpy as np

from tileopt import simt


@simt.kernel(block=64, requires=["len(x) == len(out)"])
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):  # note: k is defined here
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


a = np.zeros(100, np.float32)
k[2](a[:-1], a[1:])  # error: ownership/aliased-argument: share
