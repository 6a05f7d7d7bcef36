"""A vector has no rows."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    v = x.row(0)
    #   ^ error: type/rank: 2 axes


k.compile("cpu", x="f32[?]", out="f32[?]")
