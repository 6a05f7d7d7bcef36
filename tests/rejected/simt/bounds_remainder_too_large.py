"""A remainder by more than the array is long."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True, requires=["len(x) >= 16"])
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i % 17]
        #        ^ error: bounds/unproved: % 17) is not known to be below x.shape[0]


k.compile("cpu", x="f32[?]", out="f32[?]")
