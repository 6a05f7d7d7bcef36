"""A function on elements uses a whole tile of the kernel."""

from tileopt import tile


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(lambda v: v + t, tile.exp(t))
    #                               ^ error: map/captured-tile: pass it to map_simt() as an argument
    #   ^ note: in the call of 'lambda'
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
