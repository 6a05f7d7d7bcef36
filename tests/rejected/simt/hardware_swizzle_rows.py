"""A swizzle of 128 bytes over rows of 96."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared((16, 48), "f16", swizzle=128)
    #   ^ error: type/shared: needs rows of whole 128, not of 96


k.compile("cpu", x="f16[?,?]")
