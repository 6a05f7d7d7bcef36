"""What `move` returns is the array from then on."""

from __future__ import annotations

import numpy as np

import tileopt
from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64) * 2)


x, out = np.ones(100, np.float32), np.empty(100, np.float32)
owner = tileopt.move(x)
double[2](owner, out)
double[2](tileopt.move(owner), out)
np.testing.assert_array_equal(out, 2)
