"""A graph goes to and fro between two buffers."""

from __future__ import annotations

import numpy as np

import tileopt
from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64) * 2)


x, y = np.ones(100, np.float32), np.empty(100, np.float32)
graph, stream = tileopt.Graph(), tileopt.Stream("cpu")
with graph.capture(stream):
    double[2](x, y)
    double[2](y, x)
graph.replay()
graph.replay()
np.testing.assert_array_equal(x, 16)
