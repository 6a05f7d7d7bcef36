"""Matrices come by one, two or four."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared((16, 16), "f16")
    words = simt.ldmatrix(t, (simt.lane_index() % 8, 0), 3)
    #       ^ error: gpu/ldmatrix: 1, 2 or 4 matrices, not 3


k.compile("cpu", x="f16[?,?]")
