"""Layouts of tiles in shared memory: rows in the order in which they are written, swizzled against bank conflicts."""

from __future__ import annotations

from math import prod

from xdsl.ir import Attribute

from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.layout import Coord, SharedLayout, pow2_divisor

CHUNK_BYTES = 16  # the widest access of one lane, and ldmatrix's row
BANK_ROW_BYTES = 128  # all 32 banks of 4 bytes
SWIZZLE_SHIFT = 3  # the hardware's swizzles move bits of 16-byte chunks by three


def staged_layout(shape: Coord, element: Attribute, order: Coord, banked: bool = True) -> SharedLayout:
    """Where a staged tile lies; plainly where memory has no banks.

    A row's 16-byte chunks are permuted by XOR with the row's number within 8 rows of 128 bytes, so that eight rows of
    one chunk column (ldmatrix) as well as eight chunks of one row (a vector store) lie in different banks. Rows that
    are no power of two are padded by one chunk instead.
    """
    if len(shape) < 2 or not banked or prod(shape) == shape[order[-1]]:  # a row alone needs no other order
        return SharedLayout(shape, order)
    size = max(1, bit_width(element) // 8)
    chunk = max(1, CHUNK_BYTES // size)
    row = shape[order[-1]]
    if row & (row - 1) or row < chunk:
        return SharedLayout(shape, order, pad=chunk if row >= chunk else 0)
    base = chunk.bit_length() - 1
    chunk_bits = row.bit_length() - 1 - base
    bits = min(3, chunk_bits)
    if not bits:
        return SharedLayout(shape, order)
    bank_row_bits = (BANK_ROW_BYTES // size).bit_length() - 1
    return SharedLayout(shape, order, bits, base, max(row.bit_length() - 1, bank_row_bits) - base)


def panelled_layout(shape: Coord, element: Attribute, order: Coord) -> SharedLayout:
    """Where a tile lies that matrix units read by descriptor: rows of one swizzle's width (at most 128 bytes), longer
    ones cut into panels. PTX ISA, "Strides" and "Matrix descriptor" of wgmma; the boxes of bulk copies lie alike. Rows
    of less than 16 bytes, and a row alone, which no such unit reads, lie plainly."""
    size = bit_width(element) // 8
    if prod(shape) == shape[order[-1]]:
        return SharedLayout(shape, order)
    base = (CHUNK_BYTES // size).bit_length() - 1
    row = min(pow2_divisor(shape[order[-1]]), BANK_ROW_BYTES // size)
    bits = row.bit_length() - 1 - base
    if bits < 0:
        return SharedLayout(shape, order)
    return SharedLayout(shape, order, bits, base, SWIZZLE_SHIFT, 0, row if row < shape[order[-1]] else 0)


def unit_reshaped(layout: SharedLayout, shape: Coord) -> SharedLayout:
    """The same memory after axes of extent 1 come or go. The fastest axis stays the fastest: a pad belongs to it."""
    kept = [axis for axis, extent in enumerate(layout.shape) if extent != 1]
    places = [axis for axis, extent in enumerate(shape) if extent != 1]
    rename = dict(zip(kept, places, strict=True))
    units = [axis for axis, extent in enumerate(shape) if extent == 1]
    order = (*units, *(rename[axis] for axis in layout.order if axis in rename))
    pad = layout.pad if layout.order and layout.order[-1] in rename else 0
    return SharedLayout(shape, order, layout.bits, layout.base, layout.shift, pad, layout.panel)
