"""An axis that the tile does not have."""

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(lambda v: v, t, axis=1)
    #   ^ error: type/axis: axis 1 is not an axis of an f32 tile of (64,)
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
