"""Where the thread stores was read from memory."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=(64,))
def k(places: simt.Slice["i64"], out: simt.DisjointSlice["f32"]):
    i = simt.thread_index()
    if i < len(places):
        out[places[i]] = 1.0  #! ownership/data-dependent-store


k.compile("cpu", places="i64[?]", out="f32[?]")
