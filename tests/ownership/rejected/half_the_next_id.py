"""(i + 1) // 2 is the same for two blocks."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    tile.store(out, (i + 1) // 2, tile.load(x, i, 64))  #! ownership/overlapping-stores


k.compile("cpu", x="f32[?]", out="f32[?]")
