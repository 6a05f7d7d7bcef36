"""A barrier that the first threads alone reach."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    if simt.thread_rank() < 3:  # note: the condition is here
        simt.barrier()  # error: race/divergent-barrier: move the barrier out


k.compile("cpu", out="f32[?]")
