"""What was loaded may be anything."""

from tileopt import simt


@simt.kernel(block=64, deny_checks=True)
def k(idx: simt.Slice["i64", 1], x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(idx) and i < len(out):
        out[i] = x[idx[i]]
        #        ^ error: bounds/unproved: may be negative


k.compile("cpu", idx="i64[?]", x="f32[?]", out="f32[?]")
