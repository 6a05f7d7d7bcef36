"""Elsewhere the compiler takes it for unshared."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def k(out: tile.InOut):
    tile.atomic_add(out, 0, tile.zeros(64))  #! ownership/not-atomic


k.compile("cpu", out="f32[?]")
