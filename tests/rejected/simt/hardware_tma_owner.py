"""Two blocks each copy their tiles to the same place."""

from tileopt import simt


@simt.kernel(block=32, grid_rank=1)
def k(x: simt.DisjointSlice["f16", 2]):
    t = simt.shared((16, 16), "f16")
    if simt.thread_rank() == 0:
        simt.tma_store(t, x, (16 * (simt.block_idx() // 2), 0))  # error: ownership/overlapping-stores: x


k.compile("cpu", x="f16[?, ?:8]")
