"""All lanes of a warp store to its element."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    w = simt.warp_index()
    if w < len(out):
        out[w] = 1.0  # error: ownership/overlapping-stores: both write out[0]


k.compile("cpu", out="f32[?]")
