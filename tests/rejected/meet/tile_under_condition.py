"""Some threads of the block work on a tile."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    if t < 32:  # note: the condition is here
        tile.store(s, tile.load(s) + 1.0)
        #             ^ error: race/divergent-tile: some may not come


k.compile("cpu", x="f32[?]", out="f32[?]")
