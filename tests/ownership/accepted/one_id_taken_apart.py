"""One block id gives a row and a column by `//` and `%`."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def copy(x: tile.In, out: tile.Out):
    columns = tile.cdiv(x.shape[1], 16)
    i, j = tile.bid(0) // columns, tile.bid(0) % columns
    tile.store(out, (i, j), tile.load(x, (i, j), (16, 16)))


x = np.random.default_rng().random((40, 50), np.float32)
out = np.empty_like(x)
copy[3 * 4](x, out)
np.testing.assert_array_equal(out, x)
