"""A captured array was given away before the stream ran."""

from __future__ import annotations

import numpy as np

import tileopt
from tileopt import tile


@tile.kernel
def double(x: tile.In, out: tile.Out):
    tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64) * 2)


x, out = np.ones(128, np.float32), np.empty(128, np.float32)
graph, stream = tileopt.Graph(), tileopt.Stream("cpu")
with graph.capture(stream):
    double[2](x, out)
owner = tileopt.move(x)
graph.replay()  #! ownership/use-after-move
