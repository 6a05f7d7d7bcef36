"""Two dynamic buffers that share bytes."""

from tileopt import simt


@simt.kernel(block=64, shared_bytes=512)
def k(out: simt.DisjointSlice["f32", 1]):
    a = simt.dynamic_shared(64, "f32", offset=0)
    b = simt.dynamic_shared(64, "f32", offset=128)
    t = simt.thread_rank()
    a[t] = 1.0  # note: the other access is here
    b[t] = 2.0  # error: race/missing-barrier: with no barrier between


k.compile("cpu", out="f32[?]")
