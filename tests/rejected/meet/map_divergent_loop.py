"""Lanes exchange elements in a loop that each leaves at its own time."""

from tileopt import simt, tile


def f(v):
    while v > 1.0:  # note: the loop is here
        v = v * 0.5 + simt.shuffle_down(v, 1) * 0.25
        #             ^ error: race/divergent-lanes: any_sync()
    return v


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    tile.store(out, i, tile.map_simt(f, t, axis=0))


k.compile("cpu", x="f32[?]", out="f32[?]")
