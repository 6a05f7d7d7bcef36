"""A relation about an axis that the array lacks."""

from tileopt import simt


@simt.kernel(block=64, requires=["x.shape[1] > 0"])
#                                ^ error: contract/axis: no axis 1
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


k.compile("cpu", x="f32[?]", out="f32[?]")
