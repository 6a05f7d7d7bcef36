"""Sum of an array: each thread adds up its share, warps meet in registers, the warps of a block in shared memory."""

from __future__ import annotations

from typing import Any

from tileopt import simt


def warp_sum(value: Any) -> Any:
    """The sum over the warp's lanes, on each of them; `simt.warp_reduce` is the same."""
    for step in simt.static_range(5):
        value += simt.shuffle_xor(value, 16 >> step)
    return value


@simt.kernel(block=256, requires=["len(out) >= 1"])
def total(x: simt.Slice, out: simt.Atomic):
    """out[0] += sum(x), on any grid."""
    parts = simt.shared(8, x.dtype)
    mine = x.dtype(0)
    for i in simt.grid_stride(len(x)):
        mine += x[i]
    mine = warp_sum(mine)
    if simt.lane_index() == 0:
        parts[simt.warp_rank()] = mine
    simt.barrier()
    if simt.thread_rank() == 0:
        whole = x.dtype(0)
        for part in parts:
            whole += part
        simt.atomic_add(out, 0, whole)
