"""Two threads an element."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=(64,))
def k(out: simt.DisjointSlice):
    i = simt.thread_index()
    out[i // 2] = 1.0  #! ownership/overlapping-stores


k.compile("cpu", out="f32[?]")
