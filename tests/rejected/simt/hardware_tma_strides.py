"""Rows of an array that are no multiples of 16 bytes."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    t, bars = simt.shared((16, 16), "f16"), simt.shared(1, "i64")
    if simt.thread_rank() == 0:
        simt.tma_load(x, (0, 0), t, bars)  # error: gpu/tensor-map: not known to be a multiple of 16 bytes


k.compile("sm_90a", x="f16[?,?]")
