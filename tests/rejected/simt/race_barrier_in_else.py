"""A barrier that one thread does not reach."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    if simt.thread_index() == 0:  # note: the condition is here
        out[0] = 1.0
    else:
        simt.barrier()  # error: race/divergent-barrier: may differ between the threads of a block


k.compile("cpu", out="f32[?]")
