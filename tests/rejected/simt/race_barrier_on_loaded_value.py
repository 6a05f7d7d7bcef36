"""A condition on each thread's own element."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    value = 0.0
    if i < len(x):
        value = x[i]
    if value > 0.0:  # note: the condition is here
        simt.barrier()  # error: race/divergent-barrier: may differ between the threads of a block


k.compile("cpu", x="f32[?]", out="f32[?]")
