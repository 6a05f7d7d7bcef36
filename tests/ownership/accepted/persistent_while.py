"""A persistent loop that is written as a `while`."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    t = tile.bid(0)
    while t < tile.cdiv(x.shape[0], 16):
        tile.store(out, t, tile.load(x, t, 16) * 2)
        t += tile.num_blocks(0)


x, out = np.random.default_rng().random(333).astype(np.float32), np.empty(333, np.float32)
double[5](x, out)
np.testing.assert_array_equal(out, 2 * x)
