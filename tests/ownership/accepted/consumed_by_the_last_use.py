"""A function takes its argument for good, and nobody uses it again."""

from __future__ import annotations

import numpy as np

import tileopt
from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64) * 2)


@tileopt.consumes("x")
def doubled(x):
    out = np.empty_like(x)
    double[2](x, out)
    return out


np.testing.assert_array_equal(doubled(doubled(np.ones(100, np.float32))), 4)
