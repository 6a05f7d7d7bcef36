"""Indices from a constant array, of which one is too large."""

import numpy as np

from tileopt import simt

ORDER = simt.constant(np.array([3, 1, 2, 0, 4]))


@simt.kernel(block=64, deny_checks=True, requires=["len(x) >= 4"])
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[ORDER[i % 5]]
        #        ^ error: bounds/unproved: not known to be below x.shape[0]


k.compile("cpu", x="f32[?]", out="f32[?]")
