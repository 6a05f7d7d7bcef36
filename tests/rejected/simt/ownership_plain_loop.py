"""Each thread writes the whole array."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    for i in range(len(out)):
        out[i] = 0.0  # error: ownership/foreign-index: names no thread


k.compile("cpu", out="f32[?]")
