"""The end of one slice is the beginning of the other."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64) * 2)


x = np.ones(200, np.float32)
double[2](x[:128], x[72:])  #! ownership/aliased-argument
