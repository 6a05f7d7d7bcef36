"""A tile of another type than the array."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    tile.store(s, tile.zeros((8, 8), tile.f64))  # error: type/store: value.astype(tile.f32)


k.compile("cpu", x="f32[?]", out="f32[?]")
