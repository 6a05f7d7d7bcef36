"""Padding where no lane is past an end."""

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(lambda v: v, t, padding=1.0)
    #   ^ error: map/padding: give axis= as well
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
