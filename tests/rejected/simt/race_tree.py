"""A tree of sums that begins without a barrier."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s = simt.shared(64)
    t = simt.thread_rank()
    s[t] = 1.0  # note: the other access is here
    d = 32
    while d > 0:
        if t < d:
            s[t] += s[t + d]
            #       ^ error: race/missing-barrier: s[32]
        simt.barrier()
        d = d // 2


k.compile("cpu", x="f32[?]", out="f32[?]")
