"""A neighbour is read while it is written."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    s = simt.shared(64)
    t = simt.thread_rank()
    s[t] = 1.0
    simt.barrier()
    if t > 0:
        s[t] += s[t - 1]  # error: race/missing-barrier: thread 2 of a block reads s[1], thread 1 writes it
        #       ^ note: the other access is here


k.compile("cpu", out="f32[?]")
