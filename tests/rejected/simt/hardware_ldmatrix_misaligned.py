"""A row of a matrix cannot begin at its fourth element."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared((16, 16), "f16")
    words = simt.ldmatrix(t, (simt.lane_index() % 8, 4))
    #       ^ error: gpu/alignment: a multiple of 8 elements, not at 4


k.compile("cpu", x="f16[?,?]")
