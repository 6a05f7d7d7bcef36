"""Loads beside a loop's products that come through their channels: a row of a bias, scales, sums of a forward pass.

What a producer copies for products, threads do not wait for; a tile that threads load themselves in the same iteration
costs them the latency of global memory. So it rides along: in the slot of the tile that was loaded before it, if the
copy engine can fetch it, and threads read it from shared memory right where they need it.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Block, Operation

from tileopt.dialects import tile
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.tile_types import Access, BufferType, ViewType, tile_shape
from tileopt.passes.building import insert
from tileopt.passes.schedule.bulk_channels import fits_engine
from tileopt.passes.schedule.role_slice import slice_of

MOST_BYTES = 32768  # of one tile; more would take slots from the products


def may_ride(load: tile.Load) -> bool:
    """Whether the engine can copy the tile to where threads can read it, and a producer knows the place."""
    view, type_ = load.view.type, buffer_of(load)
    assert isinstance(view, ViewType)
    users = [use.operation for use in load.result.uses]
    if view.access.data != Access.SHARED or not users or any(isinstance(op, tile.Stage) for op in users):
        return False
    size = prod(tile_shape(load.result.type)) * bit_width(load.result.type) // 8
    return size <= MOST_BYTES and fits_engine(load.view, type_, by_threads=True) and slice_of([load]) is not None


def buffer_of(load: tile.Load) -> BufferType:
    return BufferType.of(tile_shape(load.result.type), element_type(load.result.type))


def ride(load: tile.Load) -> None:
    """Has the tile come by way of shared memory, and be read in front of its first user."""
    block, after = load.parent, load.next_op
    assert block is not None and after is not None
    users = {_in(block, use.operation) for use in load.result.uses}
    first = next(op for op in block.ops if op in users)
    uses = [(use.operation, use.index) for use in load.result.uses]
    stage = insert(after, tile.Stage, [load.result], [buffer_of(load)])
    read = insert(first, tile.Unstage, [stage.results[0]], [load.result.type])
    for op in (stage, read):
        op.location = load.location
    read.results[0].name_hint = load.result.name_hint
    for user, index in uses:
        user.operands[index] = read.results[0]


def _in(block: Block, op: Operation) -> Operation:
    """The op of the block that holds `op`."""
    while op.parent is not block:
        around = op.parent_op()
        assert around is not None
        op = around
    return op
