"""Persistent grids: as many blocks as the machine runs at once, each of which takes one tile after another.

The body of a kernel goes into a loop over the blocks of its grid, in an order that keeps in the L2 cache what tiles
that run at the same time read: the producer begins the next tile's copies while the consumers finish the last one.
The launch's extents are then arguments of the kernel (`tile.num_blocks`), and the hardware's own grid is `physical`.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from tileopt.dialects import tile
from tileopt.dialects.kernel import NO_WRAP, PERSISTENT

# Rows of tiles that are done column by column: with as many columns of tiles beside them as fill the machine, their
# operands fit in the L2 cache.
GROUP = 16


def make_persistent(kernel: tile.Kernel, blocks: int, loads: Iterable[tile.Load]) -> scf.ForOp:
    """Makes the kernel's grid one of `blocks` for each multiprocessor; gives the loop over the launch's blocks.

    `loads`: those that the order of the blocks should serve.
    """
    body = kernel.body.block
    grouped = _grouped([_axes_of(load) for load in loads])
    inner = Block(arg_types=[i64])
    for op in list(body.ops):
        if not op.has_trait(IsTerminator):
            body.detach_op(op)
            inner.add_op(op)
    end = body.last_op
    assert end is not None
    at = _At(end)
    extents = [at.query(tile.NumBlocks, axis) for axis in range(3)]
    plane = at.multiply(extents[0], extents[1])
    total = at.multiply(plane, extents[2])
    first, step = at.query(tile.Bid, 0, physical=True), at.query(tile.NumBlocks, 0, physical=True)
    assert inner.first_op is not None
    within = _At(inner.first_op)
    ids = _ids(within, inner.args[0], extents, plane, grouped)
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


def _axes_of(load: tile.Load) -> frozenset[int]:
    """The axes of the grid that a load's place depends on."""
    axes: set[int] = set()
    seen: set[SSAValue] = set()
    pending = list(load.operands)
    while pending:
        value = pending.pop()
        if value in seen or not isinstance(value.owner, Operation):
            continue
        seen.add(value)
        if isinstance(value.owner, tile.Bid):
            axes.add(value.owner.axis.value.data)
        pending += value.owner.operands
    return frozenset(axes)


def _grouped(axes: list[frozenset[int]]) -> bool:
    """Whether some loads are shared along each of the first two axes: then neighbours in both should run together."""
    return any(0 in a and 1 not in a for a in axes) and any(1 in a and 0 not in a for a in axes)


def _ids(at: _At, number: SSAValue, extents: list[SSAValue], plane: SSAValue, grouped: bool) -> list[SSAValue]:
    """The block's ids from its number: axis 0 fastest; where `grouped`, inside groups of rows."""
    inside = at.remainder(number, plane)
    third = at.divide(number, plane)
    if not grouped:
        return [at.remainder(inside, extents[0]), at.divide(inside, extents[0]), third]
    rows = at.constant(GROUP)
    size = at.multiply(rows, extents[1])
    above = at.multiply(at.divide(inside, size), rows)
    left = at.emit(arith.MinSIOp, [at.subtract(extents[0], above), rows])
    place = at.remainder(inside, size)
    return [at.add(above, at.remainder(place, left)), at.divide(place, left), third]


class _At:
    """Makes integer ops in front of one op."""

    def __init__(self, anchor: Operation) -> None:
        self.anchor = anchor

    def emit(
        self, op_type: type[Operation], operands: list[SSAValue], properties: dict[str, Attribute] | None = None
    ) -> SSAValue:
        op = op_type.create(operands=operands, result_types=[i64], properties=properties or {})
        op.location = self.anchor.location
        assert self.anchor.parent is not None
        self.anchor.parent.insert_op_before(op, self.anchor)
        return op.results[0]

    def constant(self, value: int) -> SSAValue:
        return self.emit(arith.ConstantOp, [], {"value": IntegerAttr(value, i64)})

    def query(self, op_type: type[tile.Bid | tile.NumBlocks], axis: int, *, physical: bool = False) -> SSAValue:
        properties: dict[str, Attribute] = {"axis": IntegerAttr(axis, i64)}
        if physical:
            properties["physical"] = UnitAttr()
        return self.emit(op_type, [], properties)

    def _arith(self, op_type: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(op_type, [a, b], {"overflowFlags": arith.IntegerOverflowAttr("none")})

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._arith(arith.AddiOp, a, b)

    def subtract(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._arith(arith.SubiOp, a, b)

    def multiply(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._arith(arith.MuliOp, a, b)

    def divide(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(arith.DivUIOp, [a, b])

    def remainder(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(arith.RemUIOp, [a, b])
