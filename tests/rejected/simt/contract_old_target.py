"""The contract asks for a later GPU."""

from tileopt import simt


@simt.kernel(block=64, min_arch="sm_90")
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):  # error: target/too-old: needs sm_90
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i]


k.compile("sm_80", x="f32[?]", out="f32[?]")
