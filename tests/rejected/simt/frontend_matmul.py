"""Threads multiply numbers, not tiles."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    v = x[0] @ x[1]
    #   ^ error: unsupported/matmul: a loop


k.compile("cpu", x="f32[?]", out="f32[?]")
