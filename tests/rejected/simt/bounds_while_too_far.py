"""A loop that counts past the end before it looks."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    j = 0
    total = 0.0
    while j < len(x):
        j += 1
        total += x[j]
        #        ^ error: bounds/unproved: not known to be below x.shape[0]
    if i < len(out):
        out[i] = total


k.compile("cpu", x="f32[?]", out="f32[?]")
