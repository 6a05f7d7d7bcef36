"""Arrays are gone through at run time, a tuple when the kernel is compiled."""

from tileopt import simt


@simt.kernel(block=64)
def k(a: simt.Slice["f32", 2], x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    total = 0.0
    for v, c in zip(x, (1.0, 2.0, 3.0), strict=False):
        #       ^ error: unsupported/iteration: zip() of arrays and a tuple of 3
        total += c * v
    out[simt.thread_index()] = total


k.compile("cpu", a="f32[?, ?]", x="f32[?]", out="f32[?]")
