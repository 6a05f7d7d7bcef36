"""An index is an integer."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    v = x[1.5]
    #   ^ error: type/index: an integer


k.compile("cpu", x="f32[?]", out="f32[?]")
