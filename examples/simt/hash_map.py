"""A hash map with open addressing: threads claim slots by compare-and-swap. Key -1 is a free slot."""

from __future__ import annotations

from typing import Any

from tileopt import simt

FREE = -1


def slot_of(key: Any, capacity: Any) -> Any:
    """Fibonacci hashing: the product's upper bits."""
    return simt.i64((simt.u32(key) * 2654435769) >> 8) % capacity


@simt.kernel(block=128, requires=["len(keys) == len(values)", "len(keys) >= 1", "len(new) == len(data)"])
def insert(new: simt.Slice["i32"], data: simt.Slice["i32"], keys: simt.Atomic["i32"], values: simt.Atomic["i32"]):
    """Adds data to the value of each key; the map has more slots than keys."""
    i = simt.thread_index()
    if i < len(new):
        at = slot_of(new[i], len(keys))
        seen = simt.atomic_cas(keys, at, FREE, new[i])
        while seen != FREE and seen != new[i]:
            at = (at + 1) % len(keys)
            seen = simt.atomic_cas(keys, at, FREE, new[i])
        simt.atomic_add(values, at, data[i])


@simt.kernel(block=128, requires=["len(keys) == len(values)", "len(keys) >= 1", "len(wanted) == len(out)"])
def find(wanted: simt.Slice["i32"], keys: simt.Slice["i32"], values: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    """out[i] = the value of wanted[i], or -1 where it is not in the map."""
    i = simt.thread_index()
    if i < len(out):
        at = slot_of(wanted[i], len(keys))
        while keys[at] != FREE and keys[at] != wanted[i]:
            at = (at + 1) % len(keys)
        out[i] = values[at] if keys[at] == wanted[i] else -1
