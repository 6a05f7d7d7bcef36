"""Runs of five that begin four apart."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    #   ^ note: bid(0) is taken here
    for j in range(5):
        if 4 * i + j < len(out):
            out[4 * i + j] = 1.0  # error: ownership/overlapping-stores: both write out[4]


k.compile("cpu", out="f32[?]")
