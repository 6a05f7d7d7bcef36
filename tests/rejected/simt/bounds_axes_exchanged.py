"""Row and column in the wrong places."""

from tileopt import simt


@simt.kernel(block=(8, 8), deny_checks=True)
def k(a: simt.Slice["f32", 2], c: simt.DisjointSlice["f32", 2]):
    row, column = simt.thread_index_2d()
    if row < len(a) and column < a.shape[1] and row < len(c) and column < c.shape[1]:
        c[row, column] = a[column, row]
        #                ^ error: bounds/unproved: not known to be below a.shape[0]


k.compile("cpu", a="f32[?, ?]", c="f32[?, ?]")
