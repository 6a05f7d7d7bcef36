"""A thread has no tiles."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    v = tile.load(x, 0, 4)
    #   ^ error: unsupported/call: x[i]


k.compile("cpu", x="f32[?]", out="f32[?]")
