"""A function that calls itself."""

from tileopt import simt


def down(n):
    return down(n - 1)
    #      ^ error: unsupported/recursion: 'down' calls itself


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1], n: int):
    v = down(n)
    #   ^ note: in the call of 'down'


k.compile("cpu", out="f32[?]", n="i64")
