"""out = a * x: the smallest kernel of threads. The contract proves every access, so that none is tested at run time."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=256, requires=["len(x) == len(out)"])
def scale(a: simt.f32, x: simt.Slice, out: simt.DisjointSlice):
    i = simt.thread_index()
    if i < len(out):
        out[i] = a * x[i]
