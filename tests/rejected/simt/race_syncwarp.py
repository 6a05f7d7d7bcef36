"""Lanes that met do not know of the other warp."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s = simt.shared(64)
    t = simt.thread_rank()
    s[t] = 1.0  # note: the other access is here
    simt.syncwarp()
    v = s[63 - t]
    #   ^ error: race/missing-barrier: with no barrier between
    if simt.thread_index() < len(out):
        out[simt.thread_index()] = v


k.compile("cpu", x="f32[?]", out="f32[?]")
