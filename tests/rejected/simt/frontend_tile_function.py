"""A thread asks for its block by the words of its track."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = tile.bid(0)
    #   ^ error: unsupported/call: simt.block_idx(axis)


k.compile("cpu", x="f32[?]", out="f32[?]")
