"""A tile in a shuffle."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    u = simt.shuffle_xor(tile.load(s), 1)
    #   ^ error: type/operand: a shuffle is a scalar of one thread
    tile.store(s, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
