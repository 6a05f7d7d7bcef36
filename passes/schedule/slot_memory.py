"""How many slots the rings of pipeline-loops may have: what shared memory is left beside all that others put there.

The passes that decide where tiles lie run later, so this counts what they may do: a tile that is staged, or goes by way
of shared memory to its product or its store, takes the bytes that it would take then.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from tileopt.dialects import pipe, tile
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.kernel import OCCUPANCY
from tileopt.dialects.layout import Coord, Layout
from tileopt.dialects.target import Target
from tileopt.dialects.tile_types import BufferType, tile_shape
from tileopt.passes.intervals import Order as TextOrder
from tileopt.passes.layout.access import memory_order
from tileopt.passes.layout.bound_registers import asked_blocks
from tileopt.passes.layout.buffers import staged_layout
from tileopt.passes.layout.bulk_stores import may_store, panels_of, store_bytes
from tileopt.passes.layout.classes import collect
from tileopt.passes.layout.product_layouts import product_layouts
from tileopt.passes.schedule.bulk_channels import BulkLoop
from tileopt.passes.schedule.map_tensor_cores import NUM_WARPS
from tileopt.passes.schedule.pipeline_rewrite import Stream, constant_trips
from tileopt.passes.schedule.role_budget import (
    MOST_BLOCKS,
    SLOTS_OF_MANY,
    RoleBudget,
    in_tensor_memory,
    only_adds,
    role_budget,
    shared_room,
)

# Shared memory that is left for what later passes put there: partial results of reductions across warps.
RESERVED_BYTES = 2048
DIVIDING_SLOTS = 5  # one more than a power of two hides little more, but its place in the ring takes a division
MOST_SLOTS = 6  # what more could hide is hidden


def ring_bytes(found: list[BulkLoop]) -> int:
    """Bytes of one slot of each ring of the loops `found`."""
    return sum(_staged(s.stage) for bulk in found for s in bulk.streams)


def ring_room(kernel: tile.Kernel, found: list[BulkLoop], warps: int, target: Target) -> tuple[RoleBudget, int]:
    """What roles may have where a producer fills rings for the loops `found`, and the bytes of all rings together."""
    each = ring_bytes(found)
    others = RESERVED_BYTES + _outside(kernel, found, target) + store_bytes(kernel, target)
    budget = role_budget(target, warps, kernel, kernel.integer(OCCUPANCY) or MOST_BLOCKS)
    if budget.blocks > 2 and shared_room(target, budget.blocks) - others < SLOTS_OF_MANY * each:
        budget = role_budget(target, warps, kernel, 2)
    if budget.blocks > 1 and shared_room(target, budget.blocks) - others < 2 * each:
        budget = role_budget(target, warps, kernel, 1)  # alone, a block has all of the memory
    return budget, shared_room(target, budget.blocks) - others


def ring_slots(kernel: tile.Kernel, found: list[BulkLoop], room: int, stages: int | None) -> int:
    """Slots of each ring, of so many bytes together."""
    slots = min(MOST_SLOTS if stages is None else stages, room // ring_bytes(found))
    return slots - 1 if slots == DIVIDING_SLOTS and stages is None and not only_adds(kernel) else slots


def _outside(kernel: tile.Kernel, found: list[BulkLoop], target: Target) -> int:
    """Bytes of the tiles that are staged in another way, and of the largest that may take its way to a product or to
    its store through shared memory. Rings of a producer keep their memory, so nothing has its place there later."""
    own = {s.stage for bulk in found for s in bulk.streams}
    staged = [op for op in kernel.walk() if isinstance(op, tile.Stage) and op not in own]
    passing = [_crossing(op) for op in kernel.walk() if isinstance(op, tile.Mma)]
    passing += _rearranged(kernel, target)
    return sum(map(_staged, staged)) + max(passing, default=0)


def _rearranged(kernel: tile.Kernel, target: Target) -> list[int]:
    """Bytes of the tiles that threads load or store, and may share out between: for them, neighbours go together; where
    threads have whole rows (of tensor memory), also single elements of many rows do not."""
    by_rows = in_tensor_memory(kernel, target)
    classes = collect(kernel)
    products: dict[SSAValue, tile.Mma] = {}
    for op in kernel.walk():
        if isinstance(op, tile.Mma):
            products.setdefault(classes.find(op.result), op)
    found: list[int] = []
    for op in kernel.walk():
        if not isinstance(op, tile.Load | tile.Store):
            continue
        value = op.result if isinstance(op, tile.Load) else op.value
        single = op.vector is None or op.vector.value.data == 1
        if (single and not by_rows) or len(tile_shape(value.type)) < 2:
            continue
        if isinstance(op, tile.Store) and _by_engine(op, products.get(classes.find(value)), kernel, target):
            continue
        if isinstance(op, tile.Load) and all(isinstance(use.operation, tile.Stage) for use in value.uses):
            continue
        found.append(staged_bytes(BufferType.of(tile_shape(value.type), element_type(value.type))))
    return found


def _by_engine(op: tile.Store, product: tile.Mma | None, kernel: tile.Kernel, target: Target) -> bool:
    """Whether the copy engine makes the store, panel by panel, of a tile that lies as `product` leaves it."""
    if may_store(op, target) is None:
        return False
    return product is None or all(
        panels_of(op, layout, target) is not None for layout in _layouts(product, kernel, target)
    )


def _layouts(product: tile.Mma, kernel: tile.Kernel, target: Target) -> list[Layout]:
    """The layouts that a product's result may have."""
    warps = kernel.attributes[NUM_WARPS]
    assert product.atom is not None and isinstance(warps, IntegerAttr)
    (m, n), (_, k) = tile_shape(product.result.type), tile_shape(product.a.type)
    atom, block = target.atom(product.atom.data), target.product_block
    ways = (True, False)
    return [product_layouts(atom, m, n, k, warps.value.data, rows_first, block).acc for rows_first in ways]


def _crossing(op: tile.Mma) -> int:
    """Bytes that an operand which is computed may take on its way to the product."""
    found = [v.type for v in (op.a, op.b) if isinstance(v.type, TensorType) and not isinstance(v.owner, tile.Unstage)]
    return max((staged_bytes(BufferType.of(t.get_shape(), t.element_type)) for t in found), default=0)


def loop_slots(kernel: tile.Kernel, loop: scf.ForOp, streams: list[Stream], wanted: int, target: Target) -> int:
    """Slots of the ring of one loop whose copies are made some iterations early: as many as leave room for the blocks
    that the hint `occupancy` asks for, or for the most of them that may have two slots each."""
    trips = constant_trips(loop)
    slots = wanted if trips is None else min(wanted, trips)
    each = sum(_staged(s.stage) for s in streams)
    others = RESERVED_BYTES + _elsewhere(kernel, loop, streams) + store_bytes(kernel, target)
    for blocks in range(asked_blocks(kernel, target), 1, -1):
        fitting = (shared_room(target, blocks) - others) // each
        if fitting >= 2:
            return min(slots, fitting)
    return min(slots, max(0, target.shared_bytes - others) // each)


def staged_bytes(type_: Attribute, order: Coord | None = None) -> int:
    """Bytes of a staged tile in the layout that it will probably have; `order` of its axes, slowest first."""
    assert isinstance(type_, BufferType)
    layout = staged_layout(type_.get_shape(), type_.element_type, order or tuple(range(type_.rank)))
    return layout.size * bit_width(type_.element_type) // 8


def _staged(op: tile.Stage) -> int:
    """Bytes of a staged tile, in the order in which its array is copied."""
    load = op.source.owner
    return staged_bytes(op.result.type, memory_order(load.view) if isinstance(load, tile.Load) else None)


def _elsewhere(kernel: tile.Kernel, loop: scf.ForOp, streams: list[Stream]) -> int:
    """Bytes of shared memory that others need while the loop runs: staged tiles and other loops' channels that live
    then, and the way of a computed operand to its product."""
    order = TextOrder(kernel)
    during = order.of(loop)
    own = {s.stage for s in streams}
    total = crossing = 0
    for op in order.number:
        match op:
            case tile.Stage() | pipe.Channel() if op not in own:
                home = op.parent
                assert home is not None
                uses = list(_uses(op.results[0]))
                if uses and order.around([op, *uses], home).meets(during):
                    total += _staged(op) if isinstance(op, tile.Stage) else _ring(op)
            case tile.Mma() if loop.is_ancestor(op):
                crossing = max(crossing, _crossing(op))
    return total + crossing


def _ring(op: pipe.Channel) -> int:
    type_ = pipe.channel_type(op.result)
    return type_.slots.data * sum(map(staged_bytes, type_.members.data))


def _uses(value: SSAValue) -> list[Operation]:
    """The ops that take a staged tile, as it is or through another type."""
    found: list[Operation] = []
    for use in value.uses:
        found.append(use.operation)
        for result in use.operation.results:
            if isinstance(result.type, BufferType):
                found += _uses(result)
    return found
