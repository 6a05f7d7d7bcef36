"""In which order the blocks of a persistent grid are taken: so that those which run together read the same, and end
together.

- Where some loads are shared along each of the first two axes of the grid (a product's operands), rows of tiles are
  done in groups, column by column: with as many columns beside them as fill the machine, operands stay in the L2 cache.
- Where the loops get longer along an axis (causal attention), the longest come first, and every second round goes
  backwards: who had the longest of one round has the shortest of the next.
- Else axis 0 runs fastest, as it does where the hardware takes the blocks.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tileopt.dialects import tile
from tileopt.passes.schedule.pipeline_rewrite import constant

GROUP = 16  # rows of tiles
_EQUAL, _LESS_OR_EQUAL = 0, 3  # predicates of arith.cmpi: eq, sle


class Order:
    """The order for a kernel whose loops are `loops` and that loads `loads` in them."""

    def __init__(self, loads: Iterable[tile.Load], loops: Iterable[scf.ForOp]) -> None:
        axes = [_axes_of(load) for load in loads]
        self.grouped = _shared_along_both(axes)
        self.longer = next((a for loop in loops for a in range(3) if _growth(loop.ub, a) == 1), None)

    def ids(
        self, at: Numbers, turn: SSAValue, extents: list[SSAValue], total: SSAValue, width: SSAValue
    ) -> list[SSAValue]:
        """The ids of the block that is taken as number `turn` of `total`, `width` of which run together."""
        if self.longer is not None:
            return _longest_first(at, _back_and_forth(at, turn, total, width), extents, self.longer)
        plane = at.multiply(extents[0], extents[1])
        inside, third = at.remainder(turn, plane), at.divide(turn, plane)
        if not self.grouped:
            return [at.remainder(inside, extents[0]), at.divide(inside, extents[0]), third]
        rows = at.constant(GROUP)
        size = at.multiply(rows, extents[1])
        above = at.multiply(at.divide(inside, size), rows)
        left = at.emit(arith.MinSIOp, [at.subtract(extents[0], above), rows])
        place = at.remainder(inside, size)
        return [at.add(above, at.remainder(place, left)), at.divide(place, left), third]


def _back_and_forth(at: Numbers, turn: SSAValue, total: SSAValue, width: SSAValue) -> SSAValue:
    """The number with every second whole round of `width` reversed."""
    one = at.constant(1)
    round_ = at.divide(turn, width)
    begin = at.multiply(round_, width)
    end = at.add(begin, width)
    odd = at.compare(_EQUAL, at.emit(arith.AndIOp, [round_, one]), one)
    whole = at.compare(_LESS_OR_EQUAL, end, total)
    back = at.subtract(at.subtract(end, one), at.subtract(turn, begin))
    return at.emit(arith.SelectOp, [at.emit(arith.AndIOp, [odd, whole], i1), back, turn])


def _longest_first(at: Numbers, number: SSAValue, extents: list[SSAValue], axis: int) -> list[SSAValue]:
    """The other axes fastest, and `axis` from its end."""
    ids: dict[int, SSAValue] = {}
    for other in range(3):
        if other != axis:
            ids[other] = at.remainder(number, extents[other])
            number = at.divide(number, extents[other])
    ids[axis] = at.subtract(at.subtract(extents[axis], at.constant(1)), number)
    return [ids[a] for a in range(3)]


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


def _shared_along_both(axes: list[frozenset[int]]) -> bool:
    """Whether some loads are shared along each of the first two axes."""
    return any(0 in a and 1 not in a for a in axes) and any(1 in a and 0 not in a for a in axes)


def _growth(value: SSAValue, axis: int) -> int | None:
    """1 where a number never falls with the block's id, -1 where it never rises, 0 where it does not depend on it;
    None where that is not known."""
    op = value.owner
    if not isinstance(op, Operation):
        return 0
    if isinstance(op, tile.Bid):
        return int(op.axis.value.data == axis)
    ways = [_growth(v, axis) for v in op.operands]
    if not any(way != 0 for way in ways):
        return 0
    if None in ways:
        return None
    known = [way for way in ways if way is not None]
    match op:
        case arith.SubiOp():
            known[1] = -known[1]
        case arith.MuliOp() | arith.DivSIOp() | arith.FloorDivSIOp() | arith.CeilDivSIOp():
            factor = constant(op.rhs)
            if factor is None and isinstance(op, arith.MuliOp):
                factor, known = constant(op.lhs), known[::-1]
            if factor is None or factor <= 0:
                return None
        case arith.AddiOp() | arith.MinSIOp() | arith.MaxSIOp():
            pass
        case _:
            return None
    directions = set(known) - {0}
    return directions.pop() if len(directions) == 1 else None


class Numbers:
    """Makes integer ops in front of one op."""

    def __init__(self, anchor: Operation) -> None:
        self.anchor = anchor

    def emit(
        self,
        op_type: type[Operation],
        operands: list[SSAValue],
        result: Attribute = i64,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        op = op_type.create(operands=operands, result_types=[result], properties=properties or {})
        op.location = self.anchor.location
        assert self.anchor.parent is not None
        self.anchor.parent.insert_op_before(op, self.anchor)
        return op.results[0]

    def constant(self, value: int) -> SSAValue:
        return self.emit(arith.ConstantOp, [], i64, {"value": IntegerAttr(value, i64)})

    def query(self, op_type: type[tile.Bid | tile.NumBlocks], axis: int, *, physical: bool = False) -> SSAValue:
        properties: dict[str, Attribute] = {"axis": IntegerAttr(axis, i64)}
        if physical:
            properties["physical"] = UnitAttr()
        return self.emit(op_type, [], i64, properties)

    def _arith(self, op_type: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(op_type, [a, b], i64, {"overflowFlags": arith.IntegerOverflowAttr("none")})

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

    def compare(self, predicate: int, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(arith.CmpiOp, [a, b], i1, {"predicate": IntegerAttr(predicate, i64)})
