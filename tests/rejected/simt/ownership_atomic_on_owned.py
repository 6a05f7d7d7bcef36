"""An owned array takes no atomic operations."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    simt.atomic_add(out, 0, 1.0)  # error: ownership/not-atomic: simt.Atomic


k.compile("cpu", out="f32[?]")
