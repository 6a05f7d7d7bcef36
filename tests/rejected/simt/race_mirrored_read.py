"""Written, then read by another thread without a barrier."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    s = simt.shared(64)
    t = simt.thread_rank()
    s[t] = 1.0  # note: the other access is here
    v = s[63 - t]
    #   ^ error: race/missing-barrier: s[63]
    if simt.thread_index() < len(out):
        out[simt.thread_index()] = v


k.compile("cpu", out="f32[?]")
