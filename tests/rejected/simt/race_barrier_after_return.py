"""Threads that returned do not come to the barrier."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    if simt.thread_index() >= n:  # note: the condition is here
        return
    simt.barrier()  # error: race/divergent-barrier: may differ between the threads of a block


k.compile("cpu", out="f32[?]", n="i64")
