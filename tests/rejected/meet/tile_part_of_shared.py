"""A part of an array in shared memory as a tile."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    u = tile.load(s, (0, 0), (4, 4))
    #   ^ error: type/arguments: takes the whole array
    tile.store(s, u)


k.compile("cpu", x="f32[?]", out="f32[?]")
