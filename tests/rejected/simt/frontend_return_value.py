"""A kernel returns nothing."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    return x[0]  # error: kernel/returns: store the result to an array


k.compile("cpu", x="f32[?]", out="f32[?]")
