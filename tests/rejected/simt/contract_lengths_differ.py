"""A launch that breaks a relation; both values are told."""

import numpy as np

from tileopt import simt


@simt.kernel(block=64, requires=["len(x) == len(out)"])
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


k[1](np.ones(50, np.float32), np.empty(64, np.float32))  # error: launch/condition: len(x) is 50, len(out) is 64
