"""Atomics are read by atomic operations."""

from tileopt import simt


@simt.kernel(block=64)
def k(hist: simt.Atomic["u32", 1]):
    count = hist[0]
    #       ^ error: ownership/plain-access: simt.atomic_add(hist, i, 0)


k.compile("cpu", hist="u32[?]")
