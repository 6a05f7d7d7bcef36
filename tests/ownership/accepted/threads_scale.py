"""Each thread writes its own element."""

from __future__ import annotations

import numpy as np

from tileopt import simt


@simt.kernel(block=(64,), requires=["len(x) == len(out)"])
def scale(x: simt.Slice, out: simt.DisjointSlice, a: simt.f32):
    i = simt.thread_index()
    if i < len(out):
        out[i] = a * x[i]


x, out = np.random.default_rng().random(150).astype(np.float32), np.empty(150, np.float32)
scale[3](x, out, 2.0)
np.testing.assert_array_equal(out, 2 * x)
