"""One element past the end of shared memory."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s = simt.shared(64)
    t = simt.thread_rank()
    s[t + 1] = 1.0  # error: bounds/unproved: thread_idx(0) + 1 is not known to be below 64


k.compile("cpu", x="f32[?]", out="f32[?]")
