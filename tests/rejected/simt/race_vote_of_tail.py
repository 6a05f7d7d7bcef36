"""The last warp of a grid has lanes that the condition keeps out of the vote."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["u32", 1]):
    i = simt.thread_index()
    if i < len(x):  # note: the condition is here
        mask = simt.ballot(x[i] > 0.0)
        #      ^ error: race/divergent-lanes: lanes of a warp do this together
        if simt.lane_index() == 0 and simt.warp_index() < len(out):
            out[simt.warp_index()] = mask


k.compile("cpu", x="f32[?]", out="u32[?]")
