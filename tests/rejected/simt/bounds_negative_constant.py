"""Indices count from 0, not from the end."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    v = x[-1]
    #   ^ error: type/index: len(x) - 1


k.compile("cpu", x="f32[?]", out="f32[?]")
