"""A tile as a condition."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    if tile.load(s) > 0.0:
    #  ^ error: type/condition: ask .any() or .all()
        t = 0


k.compile("cpu", x="f32[?]", out="f32[?]")
