"""Dynamic shared memory: two arrays in the bytes that the contract asks for."""

from __future__ import annotations

from tileopt import simt

BLOCK = 128


@simt.kernel(block=BLOCK, grid_rank=1, shared_bytes=BLOCK * (8 + 4), requires=["len(x) == len(out)"])
def reverse_blocks(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f64", 1]):
    """Each block's elements in reverse, plus the number of each before it was moved."""
    numbers = simt.dynamic_shared(BLOCK, "i64")
    values = simt.dynamic_shared(BLOCK, "f32", offset=BLOCK * 8)
    me, i = simt.thread_rank(), simt.thread_index()
    here = simt.minimum(len(x) - simt.block_idx() * BLOCK, BLOCK)  # elements of this block
    if i < len(x):
        values[me] = x[i]
        numbers[me] = i
    simt.barrier()
    if i < len(out):
        other = here - 1 - me
        out[i] = simt.f64(values[other]) + simt.f64(numbers[other])
