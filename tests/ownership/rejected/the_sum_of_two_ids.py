"""Blocks (0, 1) and (1, 0) meet."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(out: tile.Out):
    tile.store(out, tile.bid(0) + tile.bid(1), tile.zeros(64))  #! ownership/overlapping-stores


k.compile("cpu", out="f32[?]")
