"""All blocks store a tile to one place."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    if simt.block_idx() < 2:
    #  ^ note: bid(0) is taken here
        tile.store(out, 0, tile.load(s).reshape(64))  # error: ownership/overlapping-stores: write out[0..63]


k.compile("cpu", x="f32[?]", out="f32[?]")
