"""A sum that may wrap proves nothing by being small."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1], n: int):
    i = simt.thread_index()
    if n >= 0 and n + 1 < len(x) and i < len(out):
        out[i] = x[n + 1]
        #        ^ error: bounds/unproved: may be beyond 64 bits


k.compile("cpu", x="f32[?]", out="f32[?]", n="i64")
