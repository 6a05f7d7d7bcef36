"""The last rows that lanes name are not there."""

from tileopt import simt


@simt.kernel(block=32, deny_checks=True)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared((16, 16), "f16")
    words = simt.ldmatrix(t, (simt.lane_index(), 0))
    #       ^ error: bounds/unproved: 16


k.compile("cpu", x="f16[?,?]")
