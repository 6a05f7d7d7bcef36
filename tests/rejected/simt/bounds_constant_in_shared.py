"""A constant outside needs no run to be wrong."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    s = simt.shared((4, 8))
    s[0, 8] = 1.0  # error: bounds/outside: index 8


k.compile("cpu", out="f32[?]")
