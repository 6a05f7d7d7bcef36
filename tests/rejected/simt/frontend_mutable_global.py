"""A global array that may change: kernels read constants, and write parameters."""

import numpy as np

from tileopt import simt

COUNTS = np.zeros(64, np.float32)


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1]):
    i = simt.thread_index()
    if i < len(x):
        COUNTS[i] += x[i]  # error: kernel/captured-value: COUNTS = simt.constant(COUNTS)


k.compile("cpu", x="f32[?]")
