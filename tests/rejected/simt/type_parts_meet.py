"""A row on one way, a column on the other."""

from tileopt import simt


@simt.kernel(block=64)
def k(a: simt.Slice["f32", 2], x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    n = len(x)
    r = a.row(0) if n > 3 else a.col(1)
    #   ^ error: control/type-change: is a row of 'a' on one way to here and a column of 'a' on the other
    #   ^ note: the ways part at this condition
    out[simt.thread_index()] = r[0]


k.compile("cpu", a="f32[?, ?]", x="f32[?]", out="f32[?]")
