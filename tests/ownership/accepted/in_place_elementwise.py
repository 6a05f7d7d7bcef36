"""An array that is read and written where the block owns it."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def relu(x: tile.InOut):
    i = tile.bid(0)
    tile.store(x, i, tile.maximum(tile.load(x, i, 64), 0))


x = np.random.default_rng().standard_normal(1000).astype(np.float32)
expected = np.maximum(x, 0)
relu[16](x)
np.testing.assert_array_equal(x, expected)
