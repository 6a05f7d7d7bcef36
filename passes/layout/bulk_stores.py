"""Stores by the copy engine: a tile whose registers lie badly for stores of threads goes by way of shared memory.

The tile is cut into panels as wide as a swizzled row (128 bytes), or, where the warps share its rows out, into bands of
whole rows; each is written to one of two buffers and handed to the copy engine, which writes it to the array while the
threads fill the other. It needs an array that the kernel stores to in one place only and never reads: nothing in the
block waits for what the engine writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, BlockArgument

from tileopt.dialects import tile
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.layout import Coord, Layout
from tileopt.dialects.target import Feature, Target
from tileopt.dialects.tensor_map import unfit
from tileopt.dialects.tile_types import BufferType, tile_shape
from tileopt.passes.layout.access import memory_order
from tileopt.passes.layout.buffers import BANK_ROW_BYTES, panelled_layout

BUFFERS = 2  # that are filled and copied in turn
LEAST_ROWS = 8  # of a band: what a warpgroup's accumulator has side by side


@dataclass(frozen=True, slots=True)
class Panels:
    """`type`: the buffer of one panel. `axis`: along which the tile is cut. `layout`: of a panel's registers.
    `registers`: those of each panel."""

    type: BufferType
    axis: int
    layout: Layout
    registers: tuple[tuple[int, ...], ...]

    @property
    def columns(self) -> int:
        """Extent of a panel along `axis`."""
        return self.type.get_shape()[self.axis]

    @property
    def buffers(self) -> int:
        return min(BUFFERS, len(self.registers))


def may_store(op: tile.Store, target: Target) -> BufferType | None:
    """The buffer of one panel, where the copy engine could make the store; None where it cannot."""
    shape, element = tile_shape(op.value.type), element_type(op.value.type)
    if not target.has(Feature.TMA) or len(shape) < 2 or not isinstance(op.view, BlockArgument):
        return None
    if any(use.operation is not op and not isinstance(use.operation, tile.Dim) for use in op.view.uses):
        return None
    order = memory_order(op.view)
    panel = panel_shape(shape, element, order)
    if panel is None:
        return None
    type_ = BufferType.of(panel, element, panelled_layout(panel, element, order))
    return type_ if unfit(op.view, type_) is None else None


def panel_shape(shape: Coord, element: Attribute, order: Coord) -> Coord | None:
    """Extents of one panel; None where rows are no whole panels."""
    columns = BANK_ROW_BYTES * 8 // bit_width(element)
    fast = order[-1]
    if bit_width(element) < 8 or shape[fast] % min(columns, shape[fast]):
        return None
    return tuple(min(columns, n) if axis == fast else n for axis, n in enumerate(shape))


def panels_of(op: tile.Store, layout: Layout, target: Target) -> Panels | None:
    """How the copy engine makes a store of a tile in this layout; None where it cannot."""
    type_ = may_store(op, target)
    if type_ is None or layout.has_phantoms or layout.replica_lanes or layout.replica_warps:
        return None
    order = memory_order(op.view)
    found = _cut(layout, type_, order[-1])
    if found is None:
        band = _band(layout, type_, order)
        if band is not None and unfit(op.view, band) is None:
            found = _cut(layout, band, order[-2])
    return found


def _band(layout: Layout, panel: BufferType, order: Coord) -> BufferType | None:
    """The buffer of whole rows that takes the memory of a store of this panel; None where the warps write more of them
    together."""
    shape, element, slow = layout.shape, panel.element_type, order[-2]
    rows = _elements(shape, panel, slow) * shape[slow] // prod(shape)
    rows = min(shape[slow], 1 << max(0, rows.bit_length() - 1))
    if rows % layout.base[slow] or shape[slow] % rows:
        return None
    band = tuple(rows if axis == slow else n for axis, n in enumerate(shape))
    return BufferType.of(band, element, panelled_layout(band, element, order))


def _elements(shape: Coord, panel: BufferType, slow: int) -> int:
    """Elements of a buffer: of a panel, or of a few whole rows."""
    return max(panel.shared_layout.size, LEAST_ROWS * prod(shape) // shape[slow])


def _cut(layout: Layout, type_: BufferType, axis: int) -> Panels | None:
    """A tile cut along an axis into panels of this type; None where the threads' registers are not cut alike."""
    panel = layout.with_shape(type_.get_shape())
    extent = type_.get_shape()[axis]
    if panel.has_phantoms or panel.base != layout.base or extent & (extent - 1):
        return None
    registers: list[list[int]] = [[] for _ in range(layout.shape[axis] // extent)]
    for register, at in enumerate(layout.register_coords):
        registers[at[axis] // extent].append(register)
    for number, held in enumerate(registers):
        before = [number * extent if a == axis else 0 for a in range(len(layout.shape))]
        places = [tuple(c - b for c, b in zip(layout.register_coords[r], before, strict=True)) for r in held]
        if tuple(places) != panel.register_coords:
            return None
    return Panels(type_, axis, panel, tuple(map(tuple, registers)))


def store_bytes(kernel: tile.Kernel, target: Target) -> int:
    """Bytes of shared memory that the stores of `kernel` may take."""
    total = 0
    for op in kernel.walk():
        if isinstance(op, tile.Store) and (type_ := may_store(op, target)) is not None:
            shape, panel = tile_shape(op.value.type), type_.shared_layout.size
            elements = BUFFERS * _elements(shape, type_, memory_order(op.view)[-2])
            whole = prod(shape) // prod(type_.get_shape()) * panel  # where it is cut into fewer than there are buffers
            total += min(elements, whole) * bit_width(type_.element_type) // 8
    return total
