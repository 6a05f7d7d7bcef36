"""A lane is an integer."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    v = simt.shuffle(n, 0.5)
    #   ^ error: type/operand: a lane is an integer


k.compile("cpu", out="f32[?]", n="i64")
