"""A width is a power of two."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    v = simt.shuffle(n, 0, width=12)
    #   ^ error: type/width: power of two


k.compile("cpu", out="f32[?]", n="i64")
