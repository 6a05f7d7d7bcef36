"""A function on elements works on tiles."""

from tileopt import tile


def f(v):
    return tile.sum(v)
    #      ^ error: unsupported/call: 'sum' is not a function of threads


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(f, t)
    #   ^ note: in the call of 'f'
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
