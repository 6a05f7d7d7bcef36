"""A bitcast keeps the width."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    v = simt.bitcast(n, "f32")
    #   ^ error: type/bitcast: the bits of an i64 scalar are not those of f32


k.compile("cpu", out="f32[?]", n="i64")
