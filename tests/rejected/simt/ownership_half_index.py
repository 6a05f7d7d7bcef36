"""Two threads share each half."""

from tileopt import simt


@simt.kernel(block=64)
def k(out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i // 2 < len(out):
        out[i // 2] = 1.0  # error: ownership/overlapping-stores: both write out[0]


k.compile("cpu", out="f32[?]")
