"""split-loops: masks are out of the iterations in which they change nothing.

From: tile+pipe with roles. To: tile+pipe. Invariant: what a loop computes. A consumers' loop in which a comparison of
tiles holds for all elements up to an iteration that is known before the loop, and in it selects a value, is two
loops: one up to there without the comparison, and one for the rest as it was. Where comparisons hold from some
iteration on, another loop as it was stands in front, up to there.

Both sides of the comparison must be sums of the loop's variable, of numbers made outside, and of positions in the tile
(`tile.arange`), all times constants: a causal mask, the edge of a window, or the last columns of a ragged array. Sums
in i64 may wrap: where a number is not between -2**40 and 2**40, which is tested before the loop, the loop without
comparisons has no iterations.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp, UnitAttr, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from tileopt.dialects import pipe, tile
from tileopt.dialects.tile_types import tile_shape
from tileopt.dialects.verifier import walk
from tileopt.passes.building import BELOW, add, choose, compare, emit, multiply, number
from tileopt.passes.schedule.pipeline_rewrite import constant

LIMIT = 1 << 40  # of numbers, so that no sum of a few of them wraps
MOST_FACTOR = 1 << 19  # of constants that they are multiplied by
_LESS, _LESS_OR_EQUAL, _MORE, _MORE_OR_EQUAL = 2, 3, 4, 5  # predicates of arith.cmpi: slt, sle, sgt, sge
REST = "tile.rest"  # attribute of a loop: few iterations are left for it
_SIZES = tile.Broadcast | tile.Reshape | tile.Transpose


@dataclass(frozen=True)
class SplitLoops(ModulePass):
    name = "split-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                for roles in [x for x in walk(kernel) if isinstance(x, pipe.Roles)]:
                    for loop in [x for x in roles.consumers.block.walk() if isinstance(x, scf.ForOp)]:
                        masks = _masks(loop)
                        if masks:
                            _split(loop, masks)


@dataclass(slots=True)
class _Sum:
    """`factor` times the loop's variable, plus numbers made outside times constants, plus something in low .. high."""

    factor: int = 0
    terms: dict[SSAValue, int] = field(default_factory=dict)
    low: int = 0
    high: int = 0

    def plus(self, other: _Sum, sign: int) -> _Sum:
        terms = dict(self.terms)
        for value, times in other.terms.items():
            terms[value] = terms.get(value, 0) + sign * times
        low, high = (other.low, other.high) if sign > 0 else (-other.high, -other.low)
        return _Sum(self.factor + sign * other.factor, terms, self.low + low, self.high + high)

    def times(self, by: int) -> _Sum:
        low, high = sorted((self.low * by, self.high * by))
        return _Sum(self.factor * by, {v: t * by for v, t in self.terms.items()}, low, high)

    @property
    def small(self) -> bool:
        numbers = [self.factor, self.low, self.high, *self.terms.values()]
        return all(abs(n) <= MOST_FACTOR for n in numbers) and len(self.terms) <= 8


@dataclass(slots=True)
class _Mask:
    """A comparison that holds where `over < 0`; it holds for all elements while the greatest of them is: up to some
    iteration where `over` grows with the loop's variable, from some iteration on where it shrinks."""

    op: arith.CmpiOp
    over: _Sum


def _masks(loop: scf.ForOp) -> list[_Mask]:
    """The comparisons in the loop's body that hold for all elements up to, or from, some iteration, and select
    something."""
    if constant(loop.step) != 1 or loop.lb.type != i64 or any(op.regions for op in loop.body.block.ops):
        return []
    found: list[_Mask] = []
    for op in loop.body.block.ops:
        if isinstance(op, arith.CmpiOp) and _selects(op.result):
            over = _over(op, loop)
            if over is not None and over.factor and over.small:
                found.append(_Mask(op, over))
    return found


def _selects(value: SSAValue) -> bool:
    """Whether all that a condition does is to select, perhaps in another shape or beside other conditions."""
    users = [use.operation for use in value.uses]
    return bool(users) and all(
        (isinstance(user, arith.SelectOp) and user.cond is value)
        or (isinstance(user, _SIZES | arith.AndIOp) and _selects(user.results[0]))
        for user in users
    )


def _over(op: arith.CmpiOp, loop: scf.ForOp) -> _Sum | None:
    """What is negative exactly where the comparison holds."""
    a, b = _sum(op.lhs, loop), _sum(op.rhs, loop)
    if a is None or b is None:
        return None
    one = _Sum(low=1, high=1)
    predicate = op.predicate.value.data
    if predicate in (_MORE, _MORE_OR_EQUAL):
        a, b = b, a
    if predicate in (_LESS, _MORE):
        return a.plus(b, -1)
    return a.plus(b, -1).plus(one, -1) if predicate in (_LESS_OR_EQUAL, _MORE_OR_EQUAL) else None


def _sum(value: SSAValue, loop: scf.ForOp) -> _Sum | None:
    body = loop.body.block
    if value is body.args[0]:
        return _Sum(1)
    op = value.owner
    if isinstance(op, arith.ConstantOp):
        number = _number(op.value)
        return None if number is None else _Sum(low=number, high=number)
    match op:
        case tile.Arange():
            return _Sum(high=tile_shape(op.result.type)[0] - 1)
        case tile.Splat():
            return _sum(op.value, loop)
        case tile.Broadcast() | tile.Reshape() | tile.Transpose():
            return _sum(op.source, loop)
        case arith.AddiOp() | arith.SubiOp():
            a, b = _sum(op.lhs, loop), _sum(op.rhs, loop)
            return None if a is None or b is None else a.plus(b, 1 if isinstance(op, arith.AddiOp) else -1)
        case arith.MuliOp():
            for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                by, of = _sum(one, loop), _sum(other, loop)
                if by is not None and of is not None and not by.factor and not by.terms and by.low == by.high:
                    return of.times(by.low)
        case _:
            pass
    outside = op is not body and not (isinstance(op, Operation) and loop.is_ancestor(op))
    return _Sum(terms={value: 1}) if outside and value.type == i64 else None


def _number(value: Attribute) -> int | None:
    if isinstance(value, DenseIntOrFPElementsAttr):
        value = next(iter(value.iter_attrs()))
    return value.value.data if isinstance(value, IntegerAttr) else None


def _split(loop: scf.ForOp, masks: list[_Mask]) -> None:
    """Puts a loop without the masks in front of the loop, which begins where that ends; and one with them in front of
    that, if some masks hold only from some iteration on."""
    block = loop.parent
    assert block is not None
    begin, end = loop.lb, loop.ub
    safe = emit(loop, arith.AndIOp, [_between(loop, loop.lb), _between(loop, loop.ub)], [i1])
    for mask in masks:
        over, sign = mask.over, 1 if mask.over.factor > 0 else -1
        # factor * j + terms + high < 0, which is for all elements, up to here or from here on
        bound = number(loop, -over.high if sign > 0 else over.high + 1)
        for value, times in over.terms.items():
            bound = add(loop, bound, multiply(loop, value, number(loop, -sign * times)))
            safe = emit(loop, arith.AndIOp, [safe, _between(loop, value)], [i1])
        at = emit(loop, arith.CeilDivSIOp, [bound, number(loop, abs(over.factor))])
        if sign > 0:
            end = emit(loop, arith.MinSIOp, [end, at])
        else:
            begin = emit(loop, arith.MaxSIOp, [begin, at])
    first: scf.ForOp | None = None
    if begin is not loop.lb:
        begin = choose(loop, safe, emit(loop, arith.MinSIOp, [begin, loop.ub]), loop.ub)
        first = loop.clone()
        first.operands = [loop.lb, begin, loop.step, *loop.iter_args]
        first.attributes[REST] = UnitAttr()
        block.insert_op_before(first, loop)
    rest = end is not loop.ub
    end = emit(loop, arith.MaxSIOp, [choose(loop, safe, end, begin), begin])
    values: dict[SSAValue, SSAValue] = {}
    free = loop.clone(values)
    free.operands = [begin, end, loop.step, *(loop.iter_args if first is None else first.results)]
    block.insert_op_before(free, loop)
    for mask in masks:
        _hold(values[mask.op.result])
    _drop_unused(free.body.block)
    if rest:
        loop.operands = [end, loop.ub, loop.step, *free.results]
        loop.attributes[REST] = UnitAttr()
        return
    for old, new in zip(loop.results, free.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    block.erase_op(loop)


def _hold(condition: SSAValue) -> None:
    """Makes a condition true: what it selects is what it selects then, and other conditions stand alone."""
    for use in list(condition.uses):
        user = use.operation
        match user:
            case arith.SelectOp():
                user.result.replace_all_uses_with(user.lhs)
            case arith.AndIOp():
                user.result.replace_all_uses_with(user.rhs if use.index == 0 else user.lhs)
            case _:
                _hold(user.results[0])


def _drop_unused(block: Block) -> None:
    for op in reversed(list(block.ops)):
        unused = op.results and not any(True for result in op.results for _ in result.uses)
        if unused and not op.regions and (op.name.startswith("arith.") or is_side_effect_free(op)):
            block.erase_op(op)


def _between(at: Operation, value: SSAValue) -> SSAValue:
    """Whether a number is at least -LIMIT and less than LIMIT: one unsigned comparison tests both ends."""
    return compare(at, BELOW, add(at, value, number(at, LIMIT)), number(at, 2 * LIMIT))
