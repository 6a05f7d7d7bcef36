"""What other threads may write is not copied by cp.async."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.DisjointSlice["f16", 2]):
    t = simt.shared((16, 16), "f16")
    if len(x) >= 16 and x.shape[1] >= 16:
        simt.cp_async(t, (0, 0), x, (0, 0), 8)  # error: gpu/cp-async: an array that the kernel only reads


k.compile("cpu", x="f16[?,?]")
