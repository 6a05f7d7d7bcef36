"""A vote is one of each warp, not of the block."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    if simt.any_sync(simt.lane_index() < n):  # note: the condition is here
        simt.barrier()  # error: race/divergent-barrier: may differ between the threads of a block


k.compile("cpu", out="f32[?]", n="i64")
