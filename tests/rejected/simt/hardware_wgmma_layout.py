"""Without a swizzle no descriptor tells the layout."""

from tileopt import simt


@simt.kernel(block=128)
def k(x: simt.Slice["f16", 2]):
    a, b = simt.shared((64, 64), "f16"), simt.shared((8, 64), "f16")
    c = simt.wgmma(a, b, (0.0, 0.0, 0.0, 0.0))
    #   ^ error: gpu/wgmma: needs rows of one swizzle's width


k.compile("cpu", x="f16[?,?]")
