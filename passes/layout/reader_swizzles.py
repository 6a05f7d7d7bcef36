"""Staged tiles that threads read in fragments: a swizzle without bank conflicts for those who read and write them.

The swizzle of `staged_layout` serves `ldmatrix` and vectors of 16 bytes. Threads that read elements one by one, four
neighbours beside eight rows, meet in banks there: they want coarser pieces of a row exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileopt.dialects.layout import Layout, SharedLayout
from tileopt.dialects.layout_banks import (
    VECTOR_BYTES,
    Access,
    fragment_accesses,
    is_linear,
    shared_vector,
    wavefronts,
)
from tileopt.dialects.swizzle import choose_swizzle

CHUNKS = (VECTOR_BYTES, 2 * VECTOR_BYTES, 4 * VECTOR_BYTES)  # bytes that stay side by side


def swizzled_for(usual: SharedLayout, size: int, readers: Sequence[Layout], writers: Sequence[Layout]) -> SharedLayout:
    """`usual`, or a layout in which these fragments are read and written with fewer bank conflicts. `size`: bytes of
    an element. Only where addresses are linear, so that one access of a fragment stands for all."""
    layouts = [*readers, *writers]
    if not readers or not all(is_linear(layout, usual) for layout in layouts):
        return usual
    accesses = [next(fragment_accesses(x, shared_vector(x, usual, size))) for x in layouts]
    best, least = usual, _excess(usual, size, accesses)
    for chunk in CHUNKS:
        if not least:
            break
        found = choose_swizzle(usual.shape, usual.order, size, accesses, chunk)
        excess = _excess(found, size, accesses)
        if excess < least:
            best, least = found, excess
    return best


def _excess(shared: SharedLayout, size: int, accesses: Sequence[Access]) -> int:
    return sum(wavefronts(access, shared, size).excess for access in accesses)
