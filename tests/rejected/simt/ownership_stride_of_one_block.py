"""A stride of one block, in a grid of many."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    #   ^ note: bid(0) is taken here
    for j in range(i, len(out), 64):
        out[j] = 1.0  # error: ownership/overlapping-stores: both write


k.compile("cpu", out="f32[?]")
