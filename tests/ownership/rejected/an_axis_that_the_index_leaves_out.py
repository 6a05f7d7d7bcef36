"""Blocks along axis 1 repeat each other's tiles with other values."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i, j = tile.bid(0), tile.bid(1)
    tile.store(out, i, tile.load(x, (i, j), (1, 64)).reshape(64))  #! ownership/overlapping-stores


k.compile("cpu", x="f32[?, ?]", out="f32[?]")
