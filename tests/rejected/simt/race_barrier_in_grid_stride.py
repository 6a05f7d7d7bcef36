"""Threads run a grid-stride loop more or less often."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    for _ in simt.grid_stride(n):  # note: the loop is here
        simt.barrier()  # error: race/divergent-barrier: equally often


k.compile("cpu", out="f32[?]", n="i64")
