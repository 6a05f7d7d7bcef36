"""Every k-th block writes the same tile."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out, k: int):
    i = tile.bid(0)
    tile.store(out, i % k, tile.load(x, i, 64))  #! ownership/overlapping-stores


k.compile("cpu", x="f32[?]", out="f32[?]", k="i64")
