"""The second stream waits for what the first has written."""

from __future__ import annotations

import numpy as np

import tileopt
from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64) * 2)


x, y, z = (np.ones(100, np.float32) for _ in range(3))
s, t = tileopt.Stream("cpu"), tileopt.Stream("cpu")
double[2](x, y, stream=s)
t.wait(s.record())
double[2](y, z, stream=t)
np.testing.assert_array_equal(z, 4)
