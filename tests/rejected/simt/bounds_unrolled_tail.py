"""Four elements an iteration, and no word on the rest."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    total = 0.0
    for j in range(0, len(x), 4):
        total += x[j] + x[j + 3]
        #               ^ error: bounds/unproved: not known to be below x.shape[0]
    if i < len(out):
        out[i] = total


k.compile("cpu", x="f32[?]", out="f32[?]")
