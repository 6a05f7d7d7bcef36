"""Lanes exchange elements under a condition on an element."""

from tileopt import simt, tile


def f(v):
    if v > 0.0:  # note: the condition is here
        v += simt.warp_reduce(v)
        #    ^ error: race/divergent-lanes: lanes exchange values here, and some may not come
    return v


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    tile.store(out, i, tile.map_simt(f, t, axis=0))


k.compile("cpu", x="f32[?]", out="f32[?]")
