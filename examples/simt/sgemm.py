"""Single-precision matrix product, an element a thread, in forms that differ only in how accesses are proved."""

from __future__ import annotations

from tileopt import simt

SHAPES_MATCH = ["a.shape[1] == len(b)", "len(c) == len(a)", "c.shape[1] == b.shape[1]"]


@simt.kernel(block=(32, 8), requires=SHAPES_MATCH)
def sgemm(a: simt.Slice["f32", 2], b: simt.Slice["f32", 2], c: simt.DisjointSlice["f32", 2]):
    """c = a @ b by plain indexing: the contract proves every access."""
    i, j = simt.thread_index_2d()
    if i < len(c) and j < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@simt.kernel(block=(32, 8))
def sgemm_views(a: simt.Slice["f32", 2], b: simt.Slice["f32", 2], c: simt.DisjointSlice["f32", 2]):
    """The same by a row and a column, which are tested once, where they are taken."""
    i, j = simt.thread_index_2d()
    if i < len(c) and j < c.shape[1]:
        total = 0.0
        for x, y in zip(a.row(i), b.col(j)):  # noqa: B905 (as far as the shorter reaches)
            total += x * y
        c[i, j] = total


@simt.kernel(block=(32, 8))
def sgemm_checked(a: simt.Slice["f32", 2], b: simt.Slice["f32", 2], c: simt.DisjointSlice["f32", 2]):
    """The same by plain indexing without a contract: the loop tests its indices."""
    i, j = simt.thread_index_2d()
    if i < len(c) and j < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


# The same with no test of an index at all: what the others are measured against. An index outside is no error here.
sgemm_unchecked = simt.kernel(block=(32, 8), unchecked=True)(sgemm_checked.function)
# And with all tests, those that are proved to hold among them.
sgemm_tested = simt.kernel(block=(32, 8), keep_checks=True)(sgemm_checked.function)
