"""stmatrix came with sm_90."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared((16, 16), "f16")
    simt.stmatrix(t, (0, 0), (simt.u32(0),))  # error: target/unsupported-stmatrix: sm_80 has no stmatrix


k.compile("sm_80", x="f16[?,?]")
