"""A witness plus something loaded may be what another thread has."""

from tileopt import simt


@simt.kernel(block=64)
def k(idx: simt.Slice["i64", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(idx):
        out[i + idx[i]] = 1.0  # error: ownership/data-dependent-store: depends on loaded data


k.compile("cpu", idx="i64[?]", out="f32[?]")
