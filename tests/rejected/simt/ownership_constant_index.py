"""Every thread stores to the same element."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    out[0] = 1.0  # error: ownership/foreign-index: every thread stores to 'out' at an index that names no thread


k.compile("cpu", out="f32[?]")
