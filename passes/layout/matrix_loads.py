"""Which fragments `ldmatrix` reads from which buffers."""

from __future__ import annotations

from tileopt.dialects import gpu
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.layout import Coord, Layout, SharedLayout
from tileopt.dialects.tile_types import BufferType


def fits_ldmatrix(layout: Layout, buffer: BufferType) -> bool:
    """Does the layout consist of `ldmatrix` blocks (8 rows of 16 bytes, a word a lane; PTX ISA, "ldmatrix"), each row
    of which is contiguous and aligned in the buffer? Only elements of 16 bits, and bytes in pairs, can be transposed on
    the way."""
    bits = bit_width(buffer.element_type)
    if bits not in (8, 16, 32) or layout.has_phantoms or len(layout.shape) != 2:
        return False
    packed, chunk = 32 // bits, 128 // bits
    inside = packed.bit_length() - 1  # bits of a register's number that count the elements of a word
    if len(layout.regs) < inside:
        return False
    pair = gpu.word_axis(layout, bits)
    other = 1 - pair

    def step(axis: int, value: int) -> Coord:
        return (value, 0) if axis == 0 else (0, value)

    shared = buffer.shared_layout
    row_axis = shared.order[-1]
    aligned = 1 << shared.base >= chunk if shared.bits else shared.pad % chunk == 0
    aligned = aligned and shared.shape[row_axis] % chunk == 0
    if bits == 8 and pair != row_axis:
        return aligned and _is_linear(shared) and gpu.turns_bytes(layout, row_axis)
    lanes = (step(pair, packed), step(pair, 2 * packed), step(other, 1), step(other, 2), step(other, 4))
    if layout.regs[:inside] != tuple(step(pair, 1 << bit) for bit in range(inside)) or layout.lanes != lanes:
        return False
    return aligned and (bits == 16 or pair == row_axis)


def _is_linear(shared: SharedLayout) -> bool:
    """Whether each bit of a coordinate moves an address by a XOR."""
    steps = (*shared.strides, shared.panel_stride if shared.panels > 1 else 1)
    return not shared.pad and all(step & (step - 1) == 0 for step in steps)
