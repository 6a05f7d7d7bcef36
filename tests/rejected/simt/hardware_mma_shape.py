"""No mma.sync has this shape."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    w = simt.u32(0)
    c = simt.mma_sync((w, w), (w,), (0.0, 0.0, 0.0, 0.0), "m16n16k16", "bf16")
    #   ^ error: gpu/mma: mma.sync has no m16n16k16 of bf16


k.compile("cpu", x="f16[?,?]")
