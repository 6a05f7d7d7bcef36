"""Tensor cores do not mix f16 and bf16."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    w = simt.u32(0)
    c = simt.mma_sync((w, w), (w,), (0.0, 0.0, 0.0, 0.0), "m16n8k8", "f16", b_dtype="bf16")
    #   ^ error: gpu/mma: does not multiply f16 by bf16


k.compile("cpu", x="f16[?,?]")
