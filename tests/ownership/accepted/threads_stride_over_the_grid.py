"""Few threads go round over all elements."""

from __future__ import annotations

import numpy as np

from tileopt import simt


@simt.kernel(block=(32,), requires=["len(x) == len(out)"])
def double(x: simt.Slice, out: simt.DisjointSlice):
    for i in simt.grid_stride(len(out)):
        out[i] = 2.0 * x[i]


x, out = np.random.default_rng().random(333).astype(np.float32), np.empty(333, np.float32)
double[2](x, out)
np.testing.assert_array_equal(out, 2 * x)
