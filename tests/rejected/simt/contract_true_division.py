"""Relations are of integers: '/' is not one of theirs."""

from tileopt import simt


@simt.kernel(block=64, requires=["len(x) / 2 == len(out)"])
#                                ^ error: contract/syntax: //
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


k.compile("cpu", x="f32[?]", out="f32[?]")
