"""An accumulator is read while the warpgroup still works on it."""

from tileopt import simt


@simt.kernel(block=128)
def k(x: simt.DisjointSlice["f32", 1]):
    a, b = simt.shared((64, 64), "f16", swizzle=128), simt.shared((8, 64), "f16", swizzle=128)
    acc = (0.0, 0.0, 0.0, 0.0)
    for _ in range(len(x)):
        acc = simt.wgmma(a, b, acc)
        #     ^ note: given here
    i = simt.thread_index()
    if i < len(x):
        x[i] = acc[0]  # error: gpu/pending: pass it through simt.wgmma_wait() first


k.compile("cpu", x="f32[?]")
