"""One array is read and owned by one launch."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64) * 2)


x = np.ones(128, np.float32)
double[2](x, x)  #! ownership/aliased-argument
