"""Two indices of an array of rank 1."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1], n: int):
    v = x[n, n]
    #   ^ error: type/rank: 2 indices


k.compile("cpu", x="f32[?]", out="f32[?]", n="i64")
