"""Clamping sends many threads to the last element."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    #   ^ note: bid(0) is taken here
    if len(out) > 0:
        out[min(i, len(out) - 1)] = 1.0  # error: ownership/overlapping-stores: both write


k.compile("cpu", out="f32[?]")
