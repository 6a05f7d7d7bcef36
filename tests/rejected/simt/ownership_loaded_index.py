"""An index from memory names no thread, whoever loaded it."""

from tileopt import simt


@simt.kernel(block=64)
def k(idx: simt.Slice["i64", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(idx):
        out[idx[i]] = 1.0  # error: ownership/data-dependent-store: declare out as simt.Atomic


k.compile("cpu", idx="i64[?]", out="f32[?]")
