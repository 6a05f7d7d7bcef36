"""A function on elements uses a thread's own number."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    u = tile.map_simt(lambda v, w: v * w, tile.load(s), x[t])
    #   ^ error: race/divergent-tile: a tile is one value of the whole block
    tile.store(s, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
