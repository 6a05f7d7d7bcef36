"""A block whose warps no layout can share."""

from tileopt import simt, tile


@simt.kernel(block=96)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    tile.store(s, tile.load(s) + 1.0)
    #             ^ error: kernel/block-warps: the block has 96 threads


k.compile("cpu", x="f32[?]", out="f32[?]")
