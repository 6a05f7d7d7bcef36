"""An argument names no thread."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    out[n] = 1.0  # error: ownership/foreign-index: names no thread


k.compile("cpu", out="f32[?]", n="i64")
