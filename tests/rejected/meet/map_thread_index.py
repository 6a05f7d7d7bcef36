"""A function on elements asks for its thread."""

from tileopt import simt, tile


def f(v):
    return v + simt.f32(simt.thread_rank())
    #                   ^ error: map/thread: which thread holds an element is the compiler's choice


@tile.kernel
def k(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    t = tile.load(x, i, 64)
    u = tile.map_simt(f, t, axis=0)
    #   ^ note: in the call of 'f'
    tile.store(out, i, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
