"""A block without whole warps."""

from tileopt import simt


@simt.kernel(block=48)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared((16, 16), "f16")
    words = simt.ldmatrix(t, (simt.lane_index() % 8, 0))
    #       ^ error: gpu/threads: whole warps of 32 threads, and the block has 48


k.compile("cpu", x="f16[?,?]")
