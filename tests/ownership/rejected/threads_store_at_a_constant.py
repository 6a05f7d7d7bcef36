"""All threads write one element."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=(64,))
def k(out: simt.DisjointSlice):
    out[0] = 1.0  #! ownership/foreign-index


k.compile("cpu", out="f32[?]")
