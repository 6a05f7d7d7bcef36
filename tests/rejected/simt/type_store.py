"""An integer is no f32: the cast is the author's to write."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    out[simt.thread_index()] = n  # error: type/store: f32(value)


k.compile("cpu", out="f32[?]", n="i64")
