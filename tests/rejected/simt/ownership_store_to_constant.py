"""A constant array is part of the code."""

import numpy as np

from tileopt import simt

TABLE = simt.constant(np.zeros(64, np.float32))


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1]):
    i = simt.thread_index()
    TABLE[i % 64] = x[0]  # error: ownership/read-only: a store to 'TABLE', a constant f32 array of (64,)


k.compile("cpu", x="f32[?]")
