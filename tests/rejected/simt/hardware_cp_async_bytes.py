"""Three halves are 6 bytes."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared((16, 16), "f16")
    if len(x) >= 16 and x.shape[1] >= 16:
        simt.cp_async(t, (0, 0), x, (0, 0), 3)  # error: gpu/cp-async: copies 4, 8 or 16 bytes, not 6


k.compile("cpu", x="f16[?,?]")
