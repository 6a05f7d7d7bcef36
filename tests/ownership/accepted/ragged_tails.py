"""Neither extent is a multiple of the tile."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def add(x: tile.In, y: tile.In, out: tile.Out):
    i, j = tile.bid(0), tile.bid(1)
    tile.store(out, (i, j), tile.load(x, (i, j), (8, 32)) + tile.load(y, (i, j), (8, 32)))


x, y = np.random.default_rng().random((2, 13, 71), np.float32)
out = np.empty_like(x)
add[2, 3](x, y, out)
np.testing.assert_array_equal(out, x + y)
