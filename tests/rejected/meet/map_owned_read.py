"""A function on elements reads an array that other blocks write."""

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(lambda v: v + out[0], t)
    #                               ^ error: map/memory: which this kernel writes
    #   ^ note: in the call of 'lambda'
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
