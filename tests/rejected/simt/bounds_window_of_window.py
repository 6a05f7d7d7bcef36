"""A window of 2 in a window of 4 starts at 2 at the latest."""

from tileopt import simt


@simt.kernel(block=64)
def k(a: simt.Slice["f32", 2], x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    r = x.window(0, 4).window(3, 2)
    #   ^ error: bounds/outside: whose last start that fits is 2


k.compile("cpu", a="f32[?, ?]", x="f32[?]", out="f32[?]")
