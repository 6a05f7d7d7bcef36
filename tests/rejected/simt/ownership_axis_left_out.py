"""An index along one axis of a block with two."""

from tileopt import simt


@simt.kernel(block=(16, 16))
def k(c: simt.DisjointSlice["f32", 2]):
    row, column = simt.thread_index_2d()
    if row < len(c) and c.shape[1] > 0:
        c[row, 0] = 1.0  # error: ownership/overlapping-stores: thread (0, 0)


k.compile("cpu", c="f32[?, ?]")
