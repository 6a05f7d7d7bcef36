"""A block's tile covers what threads of another block store."""

from tileopt import simt, tile


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s, t = simt.shared((8, 8)), simt.thread_rank()
    s[t // 8, t % 8] = x[t]
    i = simt.block_idx()
    #   ^ note: bid(0) is taken here
    tile.store(out, i + 1, tile.load(s).reshape(64))  # note: the other store is here
    out[simt.thread_index()] = 1.0  # error: ownership/overlapping-stores: two blocks never write one element


k.compile("cpu", x="f32[?]", out="f32[?]")
