"""An array is not an element."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    v = x + 1.0
    #   ^ error: type/operand: x[i]


k.compile("cpu", x="f32[?]", out="f32[?]")
