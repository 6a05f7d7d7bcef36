"""A window has no negative number of elements."""

from tileopt import simt


@simt.kernel(block=64)
def k(a: simt.Slice["f32", 2], x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    r = x.window(0, -2)
    #   ^ error: type/index: the count -2 of a window is negative


k.compile("cpu", a="f32[?, ?]", x="f32[?]", out="f32[?]")
