"""The neighbour may have written its element already."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=(64,))
def k(x: simt.DisjointSlice):
    i = simt.thread_index()
    if i + 1 < len(x):
        x[i] = x[i + 1]  #! ownership/foreign-read


k.compile("cpu", x="f32[?]")
