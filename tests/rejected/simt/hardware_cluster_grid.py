"""Seven blocks are no whole clusters of two."""

import numpy as np

from tileopt import simt


@simt.kernel(block=32, cluster=2, grid_rank=1)
def k(x: simt.Slice["f16", 2]):
    simt.cluster_barrier()


k[7](np.ones((4, 4), np.float16))  # error: launch/condition: grid[0] % 2 is 1
