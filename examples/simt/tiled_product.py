"""Matrix product through shared memory: each element of a and b is read once a block, not once a thread."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=(16, 16), requires=["a.shape[1] == len(b)", "len(c) == len(a)", "c.shape[1] == b.shape[1]"])
def tiled_product(a: simt.Slice["f32", 2], b: simt.Slice["f32", 2], c: simt.DisjointSlice["f32", 2]):
    """c = a @ b; a thread makes one element."""
    left, right = simt.shared((16, 16)), simt.shared((16, 16))
    tx, ty = simt.thread_idx(0), simt.thread_idx(1)
    row, column = simt.thread_index_2d()
    total = 0.0
    for start in range(0, len(b), 16):
        left[ty, tx] = a[row, start + tx] if row < len(a) and start + tx < len(b) else 0.0
        right[ty, tx] = b[start + ty, column] if start + ty < len(b) and column < b.shape[1] else 0.0
        simt.barrier()
        for k in simt.static_range(16):
            total += left[ty, k] * right[k, tx]
        simt.barrier()
    if row < len(c) and column < c.shape[1]:
        c[row, column] = total
