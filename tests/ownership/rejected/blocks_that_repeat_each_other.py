"""The kernel knows nothing of axis 1."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64) * 2)


x, out = np.ones(128, np.float32), np.ones(128, np.float32)
double[2, 2](x, out)  #! ownership/repeated-blocks
