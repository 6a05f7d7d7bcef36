"""In which order the blocks of a persistent grid are taken: so that those which run together read the same, and end
together.

- Where some loads are shared along each of the first two axes of the grid (a product's operands), rows of tiles are
  done in groups, column by column: with as many columns beside them as fill the machine, operands stay in the L2 cache.
- Where the loops get longer, or shorter, along an axis (causal attention and its gradients), the longest come first,
  and every second round goes backwards: who had the longest of one round has the shortest of the next.
- Else axis 0 runs fastest, as it does where the hardware takes the blocks.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from tileopt.dialects import tile
from tileopt.passes.building import (
    EQUAL,
    LESS_OR_EQUAL,
    add,
    compare,
    divide,
    emit,
    multiply,
    number,
    remainder,
    subtract,
)
from tileopt.passes.schedule.pipeline_rewrite import constant

GROUP = 16  # rows of tiles


class Order:
    """The order for a kernel whose loops are `loops` and that loads `loads` in them."""

    def __init__(self, loads: Iterable[tile.Load], loops: Iterable[Operation]) -> None:
        axes = [_axes_of(load) for load in loads]
        self.grouped = _shared_along_both(axes)
        counted = [loop for loop in loops if isinstance(loop, scf.ForOp)]
        ways = [(axis, _lengthening(loop, axis)) for loop in counted for axis in range(3)]
        changes: list[tuple[int | None, int]] = [(axis, way) for axis, way in ways if way]
        self.changing, self.way = changes[0] if changes else (None, 0)

    @property
    def fastest(self) -> int:
        """The axis along which blocks that are taken one after the other are neighbours: each 2, 4 or 8 of them from a
        multiple on, where the grid has a multiple of blocks along it."""
        return 0 if self.changing != 0 else 1

    def ids(
        self, at: Operation, turn: SSAValue, extents: list[SSAValue], total: SSAValue, width: SSAValue
    ) -> list[SSAValue]:
        """The ids of the block that is taken as number `turn` of `total`, `width` of which run together."""
        if self.changing is not None:
            return _longest_first(at, _back_and_forth(at, turn, total, width), extents, self.changing, self.way)
        plane = multiply(at, extents[0], extents[1])
        inside, third = remainder(at, turn, plane), divide(at, turn, plane)
        if not self.grouped:
            return [remainder(at, inside, extents[0]), divide(at, inside, extents[0]), third]
        rows = number(at, GROUP)
        size = multiply(at, rows, extents[1])
        above = multiply(at, divide(at, inside, size), rows)
        left = emit(at, arith.MinSIOp, [subtract(at, extents[0], above), rows])
        place = remainder(at, inside, size)
        return [add(at, above, remainder(at, place, left)), divide(at, place, left), third]


def _back_and_forth(at: Operation, turn: SSAValue, total: SSAValue, width: SSAValue) -> SSAValue:
    """The number with every second whole round of `width` reversed."""
    one = number(at, 1)
    round_ = divide(at, turn, width)
    begin = multiply(at, round_, width)
    end = add(at, begin, width)
    odd = compare(at, EQUAL, emit(at, arith.AndIOp, [round_, one]), one)
    whole = compare(at, LESS_OR_EQUAL, end, total)
    back = subtract(at, subtract(at, end, one), subtract(at, turn, begin))
    return emit(at, arith.SelectOp, [emit(at, arith.AndIOp, [odd, whole], [i1]), back, turn])


def _longest_first(at: Operation, rest: SSAValue, extents: list[SSAValue], axis: int, way: int) -> list[SSAValue]:
    """The other axes fastest, and `axis` from its end where loops get longer along it."""
    ids: dict[int, SSAValue] = {}
    for other in range(3):
        if other != axis:
            ids[other] = remainder(at, rest, extents[other])
            rest = divide(at, rest, extents[other])
    ids[axis] = subtract(at, subtract(at, extents[axis], number(at, 1)), rest) if way > 0 else rest
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


def _lengthening(loop: scf.ForOp, axis: int) -> int:
    """1 where a loop's trips never get fewer with the block's id, -1 where never more, 0 where that is not known or
    they are as many."""
    begin, end = _growth(loop.lb, axis), _growth(loop.ub, axis)
    if begin is None or end is None or begin * end > 0:
        return 0
    return (end > begin) - (end < begin)


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
