"""A function on elements adds to an element of an array."""

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)

    def f(v):
        out[0] += v  # error: map/memory: return the value, and store the tile
        return v

    u = tile.map_simt(f, t)
    #   ^ note: in the call of 'f'
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
