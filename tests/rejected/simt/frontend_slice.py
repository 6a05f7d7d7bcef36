"""A part of an array is a window."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1], n: int):
    v = x[n:]
    #     ^ error: unsupported/slice: x.window(i, count)


k.compile("cpu", x="f32[?]", out="f32[?]", n="i64")
