"""What is read may be written by the next block, before or after."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(out: tile.InOut):
    i = tile.bid(0)
    a = tile.load(out, i + 1, 64)  #! ownership/foreign-read
    tile.store(out, i, a)


k.compile("cpu", out="f32[?]")
