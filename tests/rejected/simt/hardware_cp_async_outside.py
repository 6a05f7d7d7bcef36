"""A copy of eight elements of which only the first was tested."""

from tileopt import simt


@simt.kernel(block=32, deny_checks=True)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared((32, 8), "f16")
    i = simt.lane_index()
    if i < len(x) and x.shape[1] > 0:
        simt.cp_async(t, (i, 0), x, (i, 0), 8)  # error: bounds/unproved: x


k.compile("cpu", x="f16[?,?]")
