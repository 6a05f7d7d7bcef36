"""A relation about an array that the kernel does not have."""

from tileopt import simt


@simt.kernel(block=64, requires=["len(y) == len(out)"])
#                                ^ error: contract/name: 'y'
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


k.compile("cpu", x="f32[?]", out="f32[?]")
