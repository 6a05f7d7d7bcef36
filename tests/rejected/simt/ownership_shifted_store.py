"""Two stores that are one element apart, from neighbours."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    #   ^ note: bid(0) is taken here
    if i < len(out):
        out[i] = 1.0  # note: the other store is here
    if i + 1 < len(out):
        out[i + 1] = 2.0  # error: ownership/overlapping-stores: both write out[


k.compile("cpu", out="f32[?]")
