"""Inclusive prefix sums of each run of 256 elements: within warps by shuffles, then across the block's warps."""

from __future__ import annotations

from typing import Any

from tileopt import simt


def warp_scan(value: Any) -> Any:
    """The sum over this lane and those before it."""
    for step in simt.static_range(5):
        before = simt.shuffle_up(value, 1 << step)
        if simt.lane_index() >= 1 << step:
            value += before
    return value


@simt.kernel(block=256, requires=["len(x) == len(out)"])
def scan(x: simt.Slice, out: simt.DisjointSlice):
    """out[i] = sum of x from the start of i's run to i."""
    parts = simt.shared(8, x.dtype)
    i = simt.thread_index()
    value = x.dtype(0)
    if i < len(x):
        value = x[i]
    value = warp_scan(value)
    if simt.lane_index() == 31:
        parts[simt.warp_rank()] = value
    simt.barrier()
    for warp in simt.static_range(7):
        if warp < simt.warp_rank():
            value += parts[warp]
    if i < len(out):
        out[i] = value
