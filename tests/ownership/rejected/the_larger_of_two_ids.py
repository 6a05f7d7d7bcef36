"""max(i, 5) is 5 for many."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(out: tile.Out):
    tile.store(out, tile.maximum(tile.bid(0), 5), tile.zeros(64))  #! ownership/overlapping-stores


k.compile("cpu", out="f32[?]")
