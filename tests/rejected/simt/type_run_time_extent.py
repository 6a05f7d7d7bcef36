"""Shared memory has constant extents."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    s = simt.shared(n)
    #   ^ error: type/constant: simt.Const[int]


k.compile("cpu", out="f32[?]", n="i64")
