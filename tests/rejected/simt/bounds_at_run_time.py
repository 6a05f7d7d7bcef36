"""What is not proved is tested, and the host raises the error."""

import numpy as np

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]
        #        ^ error: bounds/out-of-range: index 50 of 'x', whose length is 50, in thread (50, 0, 0)


k[1](np.ones(50, np.float32), np.empty(64, np.float32))
