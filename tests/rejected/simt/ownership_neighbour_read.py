"""A thread reads what its neighbour writes."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    #   ^ note: bid(0) is taken here
    if i + 1 < len(out):
        out[i] = out[i + 1]  # note: the store is here
        #        ^ error: ownership/foreign-read: reads out[1], which thread 1 of block 0 writes


k.compile("cpu", out="f32[?]")
