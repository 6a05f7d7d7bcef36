"""How passes make ops: in front of one or at the end of a block, with the place in the source of what they serve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

NO_FLAGS: dict[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}
# Predicates of arith.cmpi.
EQUAL, NOT_EQUAL, LESS, LESS_OR_EQUAL, BELOW, NOT_BELOW = 0, 1, 2, 3, 6, 9


def insert(
    at: Operation,
    op_type: type[Operation],
    operands: Sequence[SSAValue] = (),
    results: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] = (),
) -> Operation:
    """A new op in front of `at`."""
    op = op_type.create(
        operands=list(operands), result_types=list(results), properties=dict(properties or {}), regions=list(regions)
    )
    op.location = at.location
    assert at.parent is not None
    at.parent.insert_op_before(op, at)
    return op


def emit(
    at: Operation,
    op_type: type[Operation],
    operands: Sequence[SSAValue],
    results: Sequence[Attribute] = (i64,),
    properties: Mapping[str, Attribute] | None = None,
) -> SSAValue:
    """The result of a new op in front of `at`."""
    return insert(at, op_type, operands, results, properties).results[0]


def number(at: Operation, value: int, type_: Attribute = i64) -> SSAValue:
    assert isinstance(type_, IntegerType | IndexType)
    return emit(at, arith.ConstantOp, [], [type_], {"value": IntegerAttr(value, type_)})


def add(at: Operation, a: SSAValue, b: SSAValue) -> SSAValue:
    return emit(at, arith.AddiOp, [a, b], [a.type], NO_FLAGS)


def subtract(at: Operation, a: SSAValue, b: SSAValue) -> SSAValue:
    return emit(at, arith.SubiOp, [a, b], [a.type], NO_FLAGS)


def multiply(at: Operation, a: SSAValue, b: SSAValue) -> SSAValue:
    return emit(at, arith.MuliOp, [a, b], [a.type], NO_FLAGS)


def divide(at: Operation, a: SSAValue, b: SSAValue) -> SSAValue:
    """Of numbers that are not negative."""
    return emit(at, arith.DivUIOp, [a, b], [a.type])


def remainder(at: Operation, a: SSAValue, b: SSAValue) -> SSAValue:
    """Of numbers that are not negative."""
    return emit(at, arith.RemUIOp, [a, b], [a.type])


def compare(at: Operation, predicate: int, a: SSAValue, b: SSAValue) -> SSAValue:
    return emit(at, arith.CmpiOp, [a, b], [i1], {"predicate": IntegerAttr(predicate, i64)})


def choose(at: Operation, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    return emit(at, arith.SelectOp, [condition, a, b], [a.type])


class Writer:
    """Makes ops in front of `anchor`, or at the end of a block, with the place in the source of `like`."""

    def __init__(self, like: Operation, block: Block, anchor: Operation | None) -> None:
        self.location = like.location
        self.block, self.anchor = block, anchor

    def add(self, op: Operation) -> Operation:
        if self.anchor is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.anchor)
        return op

    def emit(
        self,
        op_type: type[Operation],
        operands: Sequence[SSAValue],
        results: Iterable[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> Operation:
        op = op_type.create(
            operands=list(operands),
            result_types=list(results),
            properties=dict(properties or {}),
            regions=list(regions),
        )
        op.location = self.location
        return self.add(op)

    def copy(self, ops: Iterable[Operation], values: dict[SSAValue, SSAValue]) -> None:
        """The same ops on the values that take the place of theirs; `values` learns their results."""
        for op in ops:
            self.add(op.clone(values))
