"""A function on elements prints."""

from tileopt import simt, tile


def f(v):
    simt.printf("%f", v)  # error: map/function: printf() in a function of map_simt()
    return v


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(f, t)
    #   ^ note: in the call of 'f'
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
