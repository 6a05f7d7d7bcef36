"""A condition on compile-time constants that does not hold."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], N: simt.Const[int] = 3):
    simt.static_assert(N % 2 == 0, "N is even")  # error: kernel/static-assert: N is even


k.compile("cpu", out="f32[?]")
