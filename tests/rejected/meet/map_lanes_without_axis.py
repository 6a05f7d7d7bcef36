"""Lanes exchange elements, and nothing says which they hold."""

from tileopt import simt, tile


def f(v):
    return v + simt.shuffle_xor(v, 1)
    #          ^ error: map/lanes: write map_simt(fn, ..., axis=k)


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(f, t)
    #   ^ note: in the call of 'f'
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
