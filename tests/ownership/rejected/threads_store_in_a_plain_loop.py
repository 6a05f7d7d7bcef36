"""Every thread writes every element."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=(64,))
def k(out: simt.DisjointSlice):
    for i in range(len(out)):
        out[i] = 0.0  #! ownership/foreign-index


k.compile("cpu", out="f32[?]")
