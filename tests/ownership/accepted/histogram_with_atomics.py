"""Where an element is counted rests on data."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def histogram(x: tile.In, counts: tile.Atomic):
    tile.atomic_add(counts, tile.item(tile.load(x, tile.bid(0), 1)), 1)


x, counts = np.random.default_rng().integers(0, 10, 200), np.zeros(10, np.int64)
histogram[200](x, counts)
np.testing.assert_array_equal(counts, np.bincount(x, minlength=10))
