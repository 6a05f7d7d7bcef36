"""Threads work on a tile in a loop that they run differently often."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    for i in range(t):  # note: the loop is here
        tile.store(s, tile.load(s) + 1.0)
        #             ^ error: race/divergent-tile: in a loop whose iterations may differ


k.compile("cpu", x="f32[?]", out="f32[?]")
