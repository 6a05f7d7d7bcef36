"""A row of a flat matrix that takes one element of the next."""

from tileopt import simt


@simt.kernel(block=(16, 16), requires=["len(out) >= m * n + 1", "n < 1000", "n >= 1"])
def k(out: simt.DisjointSlice["f32", 1], m: int, n: int):
    row, column = simt.thread_index_2d()
    #             ^ note: bid(1) is taken here
    #             ^ note: bid(0) is taken here
    if row < m and column <= n:
        out[row * n + column] = 1.0  # error: ownership/overlapping-stores: both write


k.compile("cpu", out="f32[?]", m="i64", n="i64")
