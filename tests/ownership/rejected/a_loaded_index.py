"""Where the store goes was read from memory."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(x: tile.In, places: tile.In, out: tile.Out):
    i = tile.bid(0)
    place = tile.item(tile.load(places, i, 1))
    tile.store(out, place, tile.load(x, i, 64))  #! ownership/data-dependent-store


k.compile("cpu", x="f32[?]", places="i64[?]", out="f32[?]")
