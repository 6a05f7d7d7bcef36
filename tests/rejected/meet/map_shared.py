"""A function on elements asks for shared memory."""

from tileopt import simt, tile


def f(v):
    s = simt.shared(64)
    #   ^ error: map/meeting: shared memory in a function of map_simt()
    s[0] = v
    return v


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(f, t)
    #   ^ note: in the call of 'f'
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
