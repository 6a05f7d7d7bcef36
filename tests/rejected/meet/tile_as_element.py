"""A tile is stored as an element."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    u = tile.load(s)
    out[simt.thread_index()] = u  # error: type/operand: an element is a scalar of one thread


k.compile("cpu", x="f32[?]", out="f32[?]")
