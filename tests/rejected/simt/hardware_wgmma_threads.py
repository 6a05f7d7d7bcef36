"""A warpgroup is four warps."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f16", 2]):
    a, b = simt.shared((64, 64), "f16", swizzle=128), simt.shared((8, 64), "f16", swizzle=128)
    c = simt.wgmma(a, b, (0.0, 0.0, 0.0, 0.0))
    #   ^ error: gpu/threads: whole warpgroups of 128 threads, and the block has 64


k.compile("cpu", x="f16[?,?]")
