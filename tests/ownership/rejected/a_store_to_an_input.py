"""The kernel only borrows it."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(x: tile.In):
    tile.store(x, tile.bid(0), tile.zeros(64))  #! ownership/read-only


k.compile("cpu", x="f32[?]")
