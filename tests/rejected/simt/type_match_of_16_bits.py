"""Lanes match values of 32 or 64 bits."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    v = simt.match_any(simt.i16(n))
    #   ^ error: type/operand: 32 or 64 bits


k.compile("cpu", out="f32[?]", n="i64")
