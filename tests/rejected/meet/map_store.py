"""A function on elements stores to an array."""

from tileopt import simt, tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)

    def f(v):
        out[simt.i64(v)] = v  # error: map/memory: stores to the array 'out'
        return v

    u = tile.map_simt(f, t)
    #   ^ note: in the call of 'f'
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
