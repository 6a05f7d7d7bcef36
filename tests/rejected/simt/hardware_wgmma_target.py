"""sm_90 without the a has no wgmma."""

from tileopt import simt


@simt.kernel(block=128)
def k(x: simt.Slice["f16", 2]):
    a, b = simt.shared((64, 64), "f16", swizzle=128), simt.shared((8, 64), "f16", swizzle=128)
    c = simt.wgmma(a, b, (0.0, 0.0, 0.0, 0.0))
    #   ^ error: target/unsupported-wgmma: sm_90 has no wgmma


k.compile("sm_90", x="f16[?,?]")
