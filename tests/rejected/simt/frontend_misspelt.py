"""A name that the track does not have."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_indx()
    #   ^ error: name/attribute: thread_index


k.compile("cpu", x="f32[?]", out="f32[?]")
