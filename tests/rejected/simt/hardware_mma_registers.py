"""An operand with too few registers."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    w = simt.u32(0)
    c = simt.mma_sync((w, w), (w, w), (0.0, 0.0, 0.0, 0.0), "m16n8k16", "bf16")
    #   ^ error: gpu/mma: a of m16n8k16 is 4 of i32


k.compile("cpu", x="f16[?,?]")
