"""The error stands where the store is, not where the helper is called."""

from tileopt import simt


def put(out, i):
    out[i] = 1.0  # error: ownership/foreign-index: names no thread


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    put(out, n)


k.compile("cpu", out="f32[?]", n="i64")
