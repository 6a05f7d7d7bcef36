"""Kernels raise no exceptions."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    try:  # error: unsupported/statement: 'try' cannot stand in a kernel
        v = x[0]
    except IndexError:
        pass


k.compile("cpu", x="f32[?]", out="f32[?]")
