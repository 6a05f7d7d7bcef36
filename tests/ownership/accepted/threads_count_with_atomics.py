"""A histogram of threads."""

from __future__ import annotations

import numpy as np

from tileopt import simt


@simt.kernel(block=(64,))
def histogram(x: simt.Slice["i32"], counts: simt.Atomic["u32"]):
    i = simt.thread_index()
    if i < len(x):
        simt.atomic_add(counts, x[i], 1)


x, counts = np.random.default_rng().integers(0, 10, 200).astype(np.int32), np.zeros(10, np.uint32)
histogram[4](x, counts)
np.testing.assert_array_equal(counts, np.bincount(x, minlength=10))
