"""Dynamic shared memory without bytes for it."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    s = simt.dynamic_shared(4)
    #   ^ error: limits/dynamic-shared: shared_bytes=


k.compile("cpu", x="f32[?]", out="f32[?]")
