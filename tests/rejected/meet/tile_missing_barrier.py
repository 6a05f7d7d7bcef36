"""A tile of one array orders nothing in another."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, r, t = simt.shared(64), simt.shared(64), simt.thread_rank()
    s[t] = x[t]  # note: the other access is here
    tile.store(r, tile.zeros(64))
    out[simt.thread_index()] = s[63 - t] + r[t]
    #                          ^ error: race/missing-barrier: no barrier between


k.compile("cpu", x="f32[?]", out="f32[?]")
