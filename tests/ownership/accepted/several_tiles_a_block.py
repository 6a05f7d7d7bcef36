"""A block writes four tiles that lie side by side."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    for k in range(4):
        t = 4 * tile.bid(0) + k
        tile.store(out, t, tile.load(x, t, 16) * 2)


x, out = np.random.default_rng().random(333).astype(np.float32), np.empty(333, np.float32)
double[6](x, out)
np.testing.assert_array_equal(out, 2 * x)
