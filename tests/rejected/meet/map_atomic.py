"""A function on elements does atomics."""

from tileopt import simt, tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)

    def f(v):
        simt.atomic_add(out, 0, v)  # error: map/memory: atomic_add() in a function of map_simt()
        return v

    u = tile.map_simt(f, t)
    #   ^ note: in the call of 'f'
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
