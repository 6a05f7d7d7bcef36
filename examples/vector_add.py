"""Vector addition: the smallest tile kernel."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def vector_add(x: tile.In, y: tile.In, out: tile.Out, BLOCK: tile.Const[int] = 1024):
    """out = x + y; all of one length, of any element type."""
    i = tile.bid(0)
    a = tile.load(x, (i,), (BLOCK,))
    b = tile.load(y, (i,), (BLOCK,))
    tile.store(out, (i,), a + b)
