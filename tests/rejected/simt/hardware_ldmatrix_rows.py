"""Rows of 12 halves do not begin at multiples of 16 bytes."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared((16, 12), "f16")
    words = simt.ldmatrix(t, (simt.lane_index() % 8, 0))
    #       ^ error: gpu/ldmatrix: do not begin at multiples of 16 bytes


k.compile("cpu", x="f16[?,?]")
