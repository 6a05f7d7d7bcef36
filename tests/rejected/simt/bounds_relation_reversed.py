"""The contract says the wrong way round."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True, requires=["len(x) <= len(out)"])
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]
        #        ^ error: bounds/unproved: not known to be below x.shape[0]


k.compile("cpu", x="f32[?]", out="f32[?]")
