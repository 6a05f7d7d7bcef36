"""A tile is computed with a thread's own number."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    u = tile.load(s) * x[t]
    #   ^ error: race/divergent-tile: a scalar here may differ between its threads
    tile.store(s, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
