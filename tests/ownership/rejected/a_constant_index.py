"""All blocks write the first tile."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    tile.store(out, 0, tile.load(x, tile.bid(0), 64))  #! ownership/overlapping-stores


k.compile("cpu", x="f32[?]", out="f32[?]")
