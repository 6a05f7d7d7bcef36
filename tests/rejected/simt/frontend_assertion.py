"""An assertion at run time: the host has its message, thread and block."""

import numpy as np

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1]):
    i = simt.thread_index()
    if i < len(x):
        assert x[i] > 0.0, "positive"  # error: kernel/assertion: 'positive' does not hold, in thread (3, 0, 0)


x = np.ones(100, np.float32)
x[67] = -1.0
k[2](x)
