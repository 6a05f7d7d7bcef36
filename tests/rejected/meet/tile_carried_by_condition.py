"""Each thread chooses a tile for itself."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    u = tile.load(s)
    if t < 32:  # error: race/divergent-tile: threads may choose it differently here
        u = u + 1.0
    tile.store(s, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
