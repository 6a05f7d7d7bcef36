"""All threads write their own number to one place."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    s = simt.shared(1)
    s[0] = simt.f32(simt.thread_rank())  # error: race/missing-barrier: both write s[0]


k.compile("cpu", out="f32[?]")
