"""A row is tested where it is taken."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True)
def k(a: simt.Slice["f32", 2], out: simt.DisjointSlice["f32", 1], n: int):
    i = simt.thread_index()
    total = 0.0
    for v in a.row(n):
    #        ^ error: bounds/unproved: n may be negative along axis 0 of a
        total += v
    if i < len(out):
        out[i] = total


k.compile("cpu", a="f32[?, ?]", out="f32[?]", n="i64")
