"""Stores of tiles as they lie in registers, where the way through shared memory has no room.

A store that would move few bytes of each thread side by side goes by way of shared memory, where neighbours are shared
out anew (see `assign_layouts`). A tile larger than a block's shared memory cannot; it is stored as it lies, if the
lanes of a warp fill sectors of the array together, as the fragments of products do.
"""

from __future__ import annotations

from tileopt.dialects import tile
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.layout import Layout
from tileopt.dialects.target import Target
from tileopt.dialects.tile_types import tile_shape
from tileopt.passes.layout.access import memory_order
from tileopt.passes.layout.buffers import staged_layout

LEAST_BYTES = 16  # side by side: half a sector of 32 bytes, whose other half a thread's next store fills


def passing_bytes(op: tile.Store, target: Target) -> int:
    """Bytes of shared memory through which a store's tile would go."""
    shape, element = tile_shape(op.value.type), element_type(op.value.type)
    layout = staged_layout(shape, element, tuple(range(len(shape))), target.banked)
    return layout.size * bit_width(element) // 8


def stays(op: tile.Store, layout: Layout, target: Target) -> bool:
    """Whether a store takes its tile as it lies in `layout`, because there is no room to move it."""
    if not target.is_gpu or passing_bytes(op, target) <= target.shared_bytes:
        return False
    axis = memory_order(op.view)[-1]
    return together(layout, axis) * bit_width(element_type(op.value.type)) >= 8 * LEAST_BYTES


def together(layout: Layout, axis: int) -> int:
    """Elements side by side along an axis that the lanes of a warp hold in one register, or in the neighbours of it."""
    run = layout.contiguous(axis)
    steps = {basis[axis] for basis in layout.lanes if basis[axis]}
    while run in steps:
        run *= 2
    return run
