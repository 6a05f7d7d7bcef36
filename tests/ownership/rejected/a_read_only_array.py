"""It may not be written at all."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64) * 2)


x, out = np.ones(128, np.float32), np.ones(128, np.float32)
out.flags.writeable = False
double[2](x, out)  #! ownership/read-only-argument
