"""8-bit floats came with sm_89."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.DisjointSlice["f32", 1]):
    w, i = simt.u32(0), simt.thread_index()
    c = simt.mma_sync((w, w, w, w), (w, w), (0.0, 0.0, 0.0, 0.0), "m16n8k32", "f8e4m3fn")
    #   ^ error: target/unsupported-mma: sm_80 has no mma.sync m16n8k32 of f8e4m3fn
    if i < len(x):
        x[i] = c[0]


k.compile("sm_80", x="f32[?]")
