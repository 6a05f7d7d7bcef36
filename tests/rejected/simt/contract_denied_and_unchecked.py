"""Checks cannot be denied and dropped at once."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True, unchecked=True)  # error: kernel/contract: one of them
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


k.compile("cpu", x="f32[?]", out="f32[?]")
