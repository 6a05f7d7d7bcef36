"""Histogram of bytes: each block counts in shared memory, so that few additions meet in global memory."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=256, grid_rank=1, requires=["len(bins) == 256"])
def histogram(x: simt.Slice["u8"], bins: simt.Atomic["u32"]):
    """bins[v] += how often v is in x, on any grid."""
    counts = simt.shared(256, simt.u32)
    counts[simt.thread_rank()] = 0
    simt.barrier()
    for i in simt.grid_stride(len(x)):
        simt.atomic_add(counts, simt.i64(x[i]), 1)
    simt.barrier()
    simt.atomic_add(bins, simt.thread_rank(), counts[simt.thread_rank()])
