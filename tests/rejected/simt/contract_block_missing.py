"""Neither the contract nor the launch says the block."""

import numpy as np

from tileopt import simt


@simt.kernel(max_block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


k[1](np.ones(64, np.float32), np.empty(64, np.float32))  # error: launch/block: does not say the block
