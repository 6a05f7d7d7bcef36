"""A window that shrinks begins as the whole array, which is none."""

from tileopt import simt


@simt.kernel(block=64)
def k(a: simt.Slice["f32", 2], x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    r = x  # note: 'r' is set here first
    while len(r) > 2:
        r = r.window(1, len(r) - 1)  # error: control/type-change: 'r' is the whole array 'x' when
    out[simt.thread_index()] = r[0]


k.compile("cpu", a="f32[?, ?]", x="f32[?]", out="f32[?]")
