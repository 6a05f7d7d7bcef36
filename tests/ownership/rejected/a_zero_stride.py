"""One element under many indices cannot be owned."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64) * 2)


one = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (128,), (0,))
double[2](np.ones(128, np.float32), one)  #! ownership/self-overlap
