"""Tiles of two shapes."""

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(lambda v, w: v + w, t[:, None], t[None, :])
    #   ^ error: map/tiles: the tiles of map_simt() have one shape, not (64, 1) and (1, 64)
    tile.store(out, i, u.reshape(64))


k.compile("cpu", x="f32[?]", out="f32[?]")
