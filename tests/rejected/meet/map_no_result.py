"""A function on elements gives nothing."""

from tileopt import tile


def f(v):
    w = v + 1.0


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(f, t)
    #   ^ error: map/result: gives the constant None, which is no number
    tile.store(out, i, t)


k.compile("cpu", x="f32[?]", out="f32[?]")
