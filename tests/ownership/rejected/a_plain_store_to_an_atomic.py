"""Other blocks may be adding to it."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(out: tile.Atomic):
    tile.store(out, tile.bid(0), tile.zeros(64))  #! ownership/plain-access


k.compile("cpu", out="f32[?]")
