"""A condition that lets one index too many through."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i <= len(out):
        out[i] = 1.0  # error: bounds/unproved: not known to be below out.shape[0]


k.compile("cpu", x="f32[?]", out="f32[?]")
