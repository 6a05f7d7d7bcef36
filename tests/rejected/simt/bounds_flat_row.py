"""A flat matrix without a word on its size."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1], m: int, k: int):
    row = simt.thread_index()
    if row < m and row < len(out):
        total = 0.0
        for j in range(k):
            total += x[row * k + j]
            #        ^ error: bounds/unproved: add 'len(x) >= len(out) * k' to requires=
        out[row] = total


k.compile("cpu", x="f32[?]", out="f32[?]", m="i64", k="i64")
