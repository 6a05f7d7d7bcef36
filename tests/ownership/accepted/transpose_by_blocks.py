"""Block (i, j) writes tile (j, i)."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def transpose(x: tile.In, out: tile.Out):
    i, j = tile.bid(0), tile.bid(1)
    tile.store(out, (j, i), tile.load(x, (i, j), (16, 16)).T)


x = np.random.default_rng().random((50, 37), np.float32)
out = np.empty((37, 50), np.float32)
transpose[4, 3](x, out)
np.testing.assert_array_equal(out, x.T)
