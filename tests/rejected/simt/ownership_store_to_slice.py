"""A Slice is read only."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    x[simt.thread_index()] = 1.0  # error: ownership/read-only: simt.DisjointSlice


k.compile("cpu", x="f32[?]", out="f32[?]")
