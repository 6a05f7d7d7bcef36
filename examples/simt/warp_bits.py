"""What a warp does with masks of its lanes: one atomic operation for all lanes that want the same."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=128, requires=["len(count) >= 1", "len(out) >= len(x)"])
def compact(x: simt.Slice["i32"], out: simt.Atomic["i32"], count: simt.Atomic["u32"]):
    """The positive elements to the front of `out`, in any order; a warp reserves room for all of its own at once."""
    i = simt.thread_index()
    value = x[i] if i < len(x) else 0
    chosen = simt.ballot(value > 0)
    start = simt.u32(0)
    if simt.lane_index() == 0:
        start = simt.atomic_add(count, 0, simt.u32(simt.popc(chosen)))
    start = simt.shuffle(start, 0)
    if value > 0:
        before = simt.popc(chosen & simt.lane_mask("lt"))
        simt.atomic_exch(out, simt.i64(start) + simt.i64(before), value)


@simt.kernel(block=128, requires=["len(bins) >= 1"])
def count_by_key(keys: simt.Slice["i32"], bins: simt.Atomic["u32"]):
    """bins[k % len(bins)] += how often k is there: the first lane with a key adds for all lanes with it."""
    i = simt.thread_index()
    key = keys[i] if i < len(keys) else -1
    same = simt.match_any(key)
    first = simt.ffs(simt.bitcast(same, simt.i32)) - 1
    if key >= 0 and simt.lane_index() == simt.i64(first):
        simt.atomic_add(bins, simt.i64(key) % len(bins), simt.u32(simt.popc(same)))
