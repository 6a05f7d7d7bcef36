"""A function on elements is given no tile."""

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(lambda v: v + 1.0, 2.0)
    #   ^ error: map/tiles: map_simt() is given no tile
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
