"""A name that only some threads set."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(x):  # note: it stays unset when the condition does not hold
        v = x[i]
    if i < len(out):
        out[i] = v
        #        ^ error: name/maybe-unset: 'v' may not be set here


k.compile("cpu", x="f32[?]", out="f32[?]")
