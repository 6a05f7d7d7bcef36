"""Bitonic sort of rows in shared memory, a row a block: each round compares elements a power of two apart."""

from __future__ import annotations

from tileopt import simt

LARGEST = 2**31 - 1


@simt.kernel(block=512, grid_rank=1, requires=["len(x) == len(out)", "x.shape[1] == out.shape[1]", "x.shape[1] <= 512"])
def sort_rows(x: simt.Slice["i32", 2], out: simt.DisjointSlice["i32", 2]):
    """Rows of at most 512 elements, in ascending order."""
    s = simt.shared(512, simt.i32)
    row, i = simt.block_idx(0), simt.thread_rank()
    s[i] = x[row, i] if row < len(x) and i < x.shape[1] else LARGEST
    simt.barrier()
    for round_ in simt.static_range(1, 10):
        for k in simt.static_range(round_):
            other = i ^ (1 << (round_ - 1 - k))
            if other > i:
                low, high = s[i], s[other]
                if (low > high) == (i & (1 << round_) == 0):
                    s[i], s[other] = high, low
            simt.barrier()
    if row < len(out) and i < out.shape[1]:
        out[row, i] = s[i]
