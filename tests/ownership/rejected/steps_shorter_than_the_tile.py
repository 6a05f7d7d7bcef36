"""The tiles of neighbours overlap by half."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(out: tile.Out):
    tile.store_at(out, tile.bid(0) * 32, tile.zeros(64))  #! ownership/overlapping-stores


k.compile("cpu", out="f32[?]")
