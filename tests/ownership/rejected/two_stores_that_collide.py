"""One store is by the next block into this one's tile."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(out: tile.Out):
    i = tile.bid(0)
    tile.store(out, i, tile.zeros(64))
    tile.store(out, i + 1, tile.ones(64))  #! ownership/overlapping-stores


k.compile("cpu", out="f32[?]")
