"""No condition keeps the last threads inside."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    v = x[i]
    #   ^ error: bounds/unproved: not known to be below x.shape[0]
    if i < len(out):
        out[i] = v


k.compile("cpu", x="f32[?]", out="f32[?]")
