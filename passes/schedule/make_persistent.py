"""Persistent grids: as many blocks as the machine runs at once, each of which takes one tile after another.

The body of a kernel goes into a loop over the blocks of its grid (see `block_order`): the producer begins the next
tile's copies while the consumers finish the last one.
The launch's extents are then arguments of the kernel (`tile.num_blocks`), and the hardware's own grid is `physical`.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from tileopt.dialects import tile
from tileopt.dialects.kernel import NO_WRAP, PERSISTENT
from tileopt.passes.building import emit, multiply
from tileopt.passes.schedule.block_order import Order


def make_persistent(kernel: tile.Kernel, blocks: int, order: Order) -> scf.ForOp:
    """Makes the kernel's grid one of `blocks` for each multiprocessor; gives the loop over the launch's blocks."""
    body = kernel.body.block
    inner = Block(arg_types=[i64])
    for op in list(body.ops):
        if not op.has_trait(IsTerminator):
            body.detach_op(op)
            inner.add_op(op)
    end = body.last_op
    assert end is not None
    extents = [_query(end, tile.NumBlocks, axis) for axis in range(3)]
    total = multiply(end, multiply(end, extents[0], extents[1]), extents[2])
    first, step = _query(end, tile.Bid, 0, physical=True), _query(end, tile.NumBlocks, 0, physical=True)
    assert inner.first_op is not None
    ids = order.ids(inner.first_op, inner.args[0], extents, total, step)
    for op in list(inner.walk()):
        if isinstance(op, tile.Bid) and op.physical is None:
            op.result.replace_all_uses_with(ids[op.axis.value.data])
            assert op.parent is not None
            op.parent.erase_op(op)
    yielded = scf.YieldOp.create()
    yielded.location = kernel.location
    inner.add_op(yielded)
    loop = scf.ForOp.create(operands=[first, total, step], regions=[Region(inner)])
    loop.attributes[NO_WRAP] = UnitAttr()  # a grid has fewer than 2**63 blocks
    loop.location = kernel.location
    body.insert_op_before(loop, end)
    kernel.attributes[PERSISTENT] = IntegerAttr(blocks, i64)
    return loop


def _query(at: Operation, op_type: type[tile.Bid | tile.NumBlocks], axis: int, *, physical: bool = False) -> SSAValue:
    properties: dict[str, Attribute] = {"axis": IntegerAttr(axis, i64)}
    if physical:
        properties["physical"] = UnitAttr()
    return emit(at, op_type, [], [i64], properties)
