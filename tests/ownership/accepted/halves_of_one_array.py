"""The parts of one allocation are apart."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64) * 2)


x = np.ones(256, np.float32)
double[2](x[:128], x[128:])
np.testing.assert_array_equal(x[128:], 2)
