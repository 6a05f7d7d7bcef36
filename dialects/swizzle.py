"""Which layout of a tile in shared memory has the fewest bank conflicts for given accesses.

The candidates keep chunks of 16 bytes (or of what is asked for) whole and aligned, as vector accesses, `ldmatrix` and
`cp.async` want them. Where strides are powers of two the chunks are permuted by XOR; other rows are padded by chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from tileopt.dialects.layout import Coord, SharedLayout
from tileopt.dialects.layout_banks import PHASE_BYTES, VECTOR_BYTES, Access, wavefronts


def choose_swizzle(
    shape: Coord, order: Coord, element_bytes: int, readers: Sequence[Access], chunk_bytes: int = VECTOR_BYTES
) -> SharedLayout:
    """The layout with the fewest wavefronts over all of `readers` (each counts once); of equals the simplest.

    `readers` are the accesses, of reading and of writing, that matter (see `layout_banks`). Each must move whole
    aligned chunks or less.
    """
    return _choose(tuple(shape), tuple(order), element_bytes, tuple(readers), chunk_bytes)


@lru_cache(maxsize=1024)
def _choose(
    shape: Coord, order: Coord, element_bytes: int, readers: tuple[Access, ...], chunk_bytes: int
) -> SharedLayout:
    best: SharedLayout | None = None
    least = 0
    for candidate in candidates(shape, order, element_bytes, chunk_bytes):
        excess = sum(wavefronts(access, candidate, element_bytes).excess for access in readers)
        if best is None or excess < least:
            best, least = candidate, excess
        if not excess:
            break
    assert best is not None
    return best


def candidates(shape: Coord, order: Coord, element_bytes: int, chunk_bytes: int) -> Iterator[SharedLayout]:
    """From the simplest to the least usual."""
    chunk = max(1, chunk_bytes // element_bytes)
    ways = max(1, PHASE_BYTES // chunk_bytes)  # chunks that all banks serve at once
    plain = SharedLayout(shape, order)
    if len(shape) < 2 or shape[order[-1]] < chunk:
        yield plain
    elif all(stride & (stride - 1) == 0 for stride in plain.strides):
        yield plain
        yield from _swizzles(plain, chunk.bit_length() - 1, ways.bit_length() - 1)
    else:
        row = shape[order[-1]]
        for chunks in range(ways):
            yield SharedLayout(shape, order, pad=-row % chunk + chunks * chunk)


def _swizzles(plain: SharedLayout, base: int, most: int) -> Iterator[SharedLayout]:
    index_bits = (plain.size - 1).bit_length()
    for bits in range(1, most + 1):
        # The hardware's own swizzles (of TMA and wgmma) XOR by the number of the 128-byte line: shift = most.
        shifts = range(bits, index_bits - base - bits + 1)
        for shift in sorted(shifts, key=lambda shift: (shift != most, shift)):
            yield SharedLayout(plain.shape, plain.order, bits, base, shift)
