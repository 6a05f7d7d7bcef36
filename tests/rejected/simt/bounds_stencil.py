"""The left neighbour of the first element."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True, requires=["len(x) == len(out)"])
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i + 1 < len(out):
        out[i] = x[i - 1] + x[i + 1]
        #        ^ error: bounds/unproved: may be negative along axis 0 of x


k.compile("cpu", x="f32[?]", out="f32[?]")
