"""Blocks of a cluster in a ring: each writes to its neighbour's shared memory, as often as there are blocks."""

from __future__ import annotations

from tileopt import simt

BLOCK = 64


@simt.kernel(block=BLOCK, cluster=4, grid_rank=1, requires=["len(x) == len(out)"])
def ring_sum(x: simt.Slice["i32", 1], out: simt.DisjointSlice["i32", 1]):
    """out[i] is the sum of the elements at i's place in the four blocks of i's cluster."""
    boxes = simt.shared((2, BLOCK), "i32")
    me, i, count = simt.thread_rank(), simt.thread_index(), simt.cluster_size()
    there = simt.map_shared(boxes, (simt.cluster_rank() + 1) % count)
    mine = x[i] if i < len(x) else 0
    total = mine
    simt.cluster_barrier()  # all blocks have begun
    for step in simt.static_range(1, count):
        there[step % 2, me] = mine
        simt.cluster_barrier()
        mine = boxes[step % 2, me]
        total += mine
    simt.cluster_barrier()  # none ends while another writes to it
    if i < len(out):
        out[i] = total
