"""Every block writes every tile."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    first = tile.load(x, tile.bid(0), 64)
    for t in range(tile.cdiv(out.shape[0], 64)):
        tile.store(out, t, first)  #! ownership/overlapping-stores


k.compile("cpu", x="f32[?]", out="f32[?]")
