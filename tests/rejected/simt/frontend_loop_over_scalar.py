"""A number has no elements."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    for v in x[0]:
    #        ^ error: unsupported/iteration: f32 scalar
        pass


k.compile("cpu", x="f32[?]", out="f32[?]")
