"""The condition is about another array."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]
        #        ^ error: bounds/unproved: add 'len(x) >= len(out)' to requires= in the contract


k.compile("cpu", x="f32[?]", out="f32[?]")
