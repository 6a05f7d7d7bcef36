"""Two slices of one array that share no element go to one launch."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 16) * 2)


x = np.arange(100, dtype=np.float32)
double[4](x[::2], x[1::2])
np.testing.assert_array_equal(x[1::2], 2 * x[::2])
