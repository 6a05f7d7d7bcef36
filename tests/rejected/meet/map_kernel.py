"""A kernel is no function on elements."""

from tileopt import simt, tile


@simt.kernel(block=64)
def other(x: simt.Slice):
    pass


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(other, t)
    #   ^ error: unsupported/call: 'other' is a kernel
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
