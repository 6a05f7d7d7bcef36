"""Which `while` loops only count: one carried integer moves by a fixed step towards a fixed bound.

    scf.while (k = first, ...) { scf.condition(a*k + c < bound) } do { ...; k + step }

Both sides of the comparison may be sums of the counter and of values made outside, times constants, and the condition
may be a conjunction of such comparisons. `counted` proves by induction over the iterations that none of these
sums wraps: an iteration has passed the test, so its counter is on the near side of the bound, and the next one's at
most a step behind it. For these values two's complement is exact arithmetic, and the loop ends where that says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from xdsl.dialects import arith, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tileopt.passes.analysis.affine import Expr
from tileopt.passes.analysis.counted_sums import Bound, Counted, End, Sum
from tileopt.passes.analysis.facts import KernelFacts, width_of
from tileopt.passes.analysis.ranges import Interval


class _Predicate(IntEnum):
    """Those of arith.cmpi that a counter can be tested by."""

    NOT_EQUAL = 1
    LESS = 2
    LESS_OR_EQUAL = 3
    MORE = 4
    MORE_OR_EQUAL = 5


# ult, ule, ugt, uge mean the same where nothing is negative.
_UNSIGNED = {6: 2, 7: 3, 8: 4, 9: 5}
NONE = Interval.of(0)


def counted(facts: KernelFacts, loop: scf.WhileOp) -> Counted | None:
    """How the loop counts; None where it does not, or where it is not proved."""
    test = loop.before_region.block.last_op
    end = loop.after_region.block.last_op
    if not isinstance(test, scf.ConditionOp) or not isinstance(end, scf.YieldOp):
        return None
    if not all(is_pure(op) for op in loop.before_region.block.ops if op is not test):
        return None
    comparisons = _conjuncts(test.condition, loop)
    if not comparisons:
        return None
    for counter, argument in enumerate(loop.before_region.block.args):
        width = width_of(argument.type)
        if width is not None and width > 1:
            found = _Counter(facts, loop, test, argument).counted(comparisons, end.operands[counter])
            if found is not None:
                return found
    return None


def is_pure(op: Operation) -> bool:
    """Whether an op does nothing but compute, the same from the same operands, so that it may be done anywhere."""
    # xDSL leaves some integer ops of `arith` without a word on their effects; divisions by zero have a result here.
    return is_side_effect_free(op) or op.name.startswith("arith.")


def _conjuncts(condition: SSAValue, loop: scf.WhileOp) -> list[tuple[int, arith.CmpiOp]]:
    """The comparisons that all hold where the condition does, each with its predicate; empty where it is more."""
    pending, found = [(condition, True)], list[tuple[int, arith.CmpiOp]]()
    while pending:
        value, truth = pending.pop()
        op = value.owner
        match op:
            case arith.AndIOp() if truth:
                pending += [(op.lhs, truth), (op.rhs, truth)]
            case arith.SelectOp() if truth and _bool(op.rhs) is False:
                pending += [(op.cond, truth), (op.lhs, truth)]
            case arith.XOrIOp() if _bool(op.rhs) is True:
                pending.append((op.lhs, not truth))
            case arith.ConstantOp() if _bool(value) is truth:
                pass
            case arith.CmpiOp() if op.parent is loop.before_region.block:
                found.append((op.predicate.value.data if truth else _denied(op.predicate.value.data), op))
            case _:
                return []
    return found


def _denied(predicate: int) -> int:
    """The predicate that holds where this one does not: eq and ne, slt and sge, sle and sgt, then the unsigned ones."""
    return 1 - predicate if predicate <= _Predicate.NOT_EQUAL else (7 if predicate not in _UNSIGNED else 15) - predicate


def _bool(value: SSAValue) -> bool | None:
    found = constant(value)
    return None if found is None else bool(found & 1)


def constant(value: SSAValue) -> int | None:
    """A constant, read as two's complement."""
    from xdsl.dialects.builtin import IntegerAttr

    op, width = value.owner, width_of(value.type)
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr) or width is None:
        return None
    low = op.value.value.data & ((1 << width) - 1)
    return low - (1 << width) if width > 1 and low >> (width - 1) else low


@dataclass(slots=True)
class _Counter:
    """One carried value of a loop, taken for its counter."""

    facts: KernelFacts
    loop: scf.WhileOp
    test: scf.ConditionOp
    argument: BlockArgument
    sums: dict[SSAValue, Sum | None] = field(default_factory=dict)

    def counted(self, comparisons: list[tuple[int, arith.CmpiOp]], following: SSAValue) -> Counted | None:
        step = self.step(following)
        if step is None:
            return None
        by = self.interval(step)
        if by.lo < 1 and by.hi > -1:
            return None
        up = by.lo > 0
        bounds: list[Bound] = []
        for predicate, op in comparisons:
            bound = self.bound(predicate, op, step, up)
            if bound is None:
                return None
            bounds.append(bound)
        start = self.loop.arguments[self.argument.index]
        first = self.range(start)
        # A counter that passed a test: its multiple is below the limit.
        past = [(self.interval(b.limit).hi - 1) // abs(b.factor) for b in bounds]
        last = min(past) if up else -min(past)
        if up:
            inside = Interval(first.lo, max(first.lo, last))
            tested = Interval(first.lo, max(first.hi, last + by.hi))
        else:
            inside = Interval(min(first.hi, last), first.hi)
            tested = Interval(min(first.lo, last + by.lo), first.hi)
        if not self.exact(inside, tested, comparisons) or not self.adds_up(step, 0):
            return None
        ends: list[End] = []
        for bound in bounds:
            over, divisor = bound.limit, abs(bound.factor)
            if not up:
                if step.constant is None:
                    return None
                over = over.plus(Sum(terms=((start, divisor),)))
                divisor *= -step.constant
            natural = self.interval(over).lo >= 0
            if not self.adds_up(over, divisor - 1 if natural else 0):
                return None
            ends.append(End(over, divisor, natural))
        return Counted(self.argument.index, start, step, up, tuple(ends))

    def step(self, following: SSAValue) -> Sum | None:
        """What an iteration adds to the counter, of values that are made outside the loop."""
        found = self.sum(following)
        if found is None or found.factor != 1:
            return None
        if any(not self.outside(value) for value, _ in found.terms):
            return None
        return Sum(0, found.terms, found.const)

    def bound(self, predicate: int, op: arith.CmpiOp, step: Sum, up: bool) -> Bound | None:
        left, right = self.sum(op.lhs), self.sum(op.rhs)
        if left is None or right is None:
            return None
        # The comparison as `rest + factor * counter < 0`.
        rest = left.plus(right, -1)
        if rest.factor == 0:
            return None
        match _UNSIGNED.get(predicate, predicate):
            case _Predicate.LESS:
                pass
            case _Predicate.LESS_OR_EQUAL:
                rest = rest.plus(Sum(const=-1))
            case _Predicate.MORE:
                rest = rest.times(-1)
            case _Predicate.MORE_OR_EQUAL:
                rest = rest.times(-1).plus(Sum(const=-1))
            case _Predicate.NOT_EQUAL:
                if (rest.factor > 0) is not up:
                    rest = rest.times(-1)
                if not self.meets(rest, step):
                    return None
            case _:
                return None
        if (rest.factor > 0) is not up:
            return None  # it runs away from its bound
        return Bound(rest.factor, Sum(0, rest.terms, rest.const).times(-1))

    def meets(self, rest: Sum, step: Sum) -> bool:
        """Whether the counter comes from below to where `rest` with it is exactly zero."""
        by = step.constant
        if by is None:
            return False
        start = self.facts.of(self.loop.arguments[self.argument.index]).expr * rest.factor + rest.const
        for value, times in rest.terms:
            start = start + self.expr(value) * times
        size = abs(by * rest.factor)
        return start.content() % size == 0 and self.facts.scope(self.loop).prover().nonneg(-start)

    def exact(self, inside: Interval, tested: Interval, comparisons: list[tuple[int, arith.CmpiOp]]) -> bool:
        """Whether every sum with the counter fits its type: it is in `tested` where the test is made, and in `inside`
        where the body is."""
        for value, made in self.sums.items():
            if made is not None and isinstance(value.owner, Operation):
                counter = tested if value.owner.parent is self.loop.before_region.block else inside
                if not self.interval(made, counter).within(self.full):
                    return False
        for predicate, op in comparisons:
            if predicate in _UNSIGNED:
                sides = [self.sum(op.lhs), self.sum(op.rhs)]
                if any(s is None or self.interval(s, tested).lo < 0 for s in sides):
                    return False
        return tested.within(self.full)

    def adds_up(self, sum: Sum, more: int) -> bool:
        """Whether no product and no step of the sum, made in its order and with `more` added to its constant, wraps."""
        total = Interval.of(0)
        for value, times in sum.terms:
            part = self.range(value).scaled(times)
            total = total.plus(part)
            if not (part.within(self.full) and total.within(self.full)):
                return False
        last = sum.const + more
        return Interval.of(last).within(self.full) and total.plus(Interval.of(last)).within(self.full)

    @property
    def full(self) -> Interval:
        return Interval.signed(width_of(self.argument.type) or 64)

    # --- values as sums ------------------------------------------------------------------------------------------

    def sum(self, value: SSAValue) -> Sum | None:
        if value not in self.sums:
            self.sums[value] = self.make(value)
        return self.sums[value]

    def make(self, value: SSAValue) -> Sum | None:
        known = constant(value)
        if known is not None:
            return Sum(const=known)
        if value.type != self.argument.type:
            return None
        if value is self.argument:
            return Sum(factor=1)
        if isinstance(value, BlockArgument) and value.block is self.loop.after_region.block:
            return self.sum(self.test.args[value.index])
        if self.fixed(value):
            return Sum(terms=((value, 1),))  # made in the test from what is made outside: it can be made there as well
        op = value.owner
        if isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp):
            left, right = self.sum(op.lhs), self.sum(op.rhs)
            if left is not None and right is not None:
                if not isinstance(op, arith.MuliOp):
                    return left.plus(right, 1 if isinstance(op, arith.AddiOp) else -1)
                if right.constant is not None:
                    return left.times(right.constant)
                if left.constant is not None:
                    return right.times(left.constant)
        return None

    def outside(self, value: SSAValue) -> bool:
        owner = value.owner
        block: Block | None = owner if isinstance(owner, Block) else owner.parent
        while block is not None:
            op = block.parent_op()
            if op is self.loop:
                return False
            block = op.parent if op is not None else None
        return True

    def fixed(self, value: SSAValue) -> bool:
        """Whether the value is the same each time the test is made, and may be made before the loop."""
        op = value.owner
        if self.outside(value):
            return True
        if not isinstance(op, Operation) or op.parent is not self.loop.before_region.block or op.regions:
            return False
        return is_pure(op) and all(self.fixed(v) for v in op.operands)

    def expr(self, value: SSAValue) -> Expr:
        return self.facts.of(value).expr

    def range(self, value: SSAValue) -> Interval:
        fact = self.facts.of(value)
        return fact.range.meet(fact.expr.bounds(self.facts.scope(self.loop).bounds))

    def interval(self, sum: Sum, counter: Interval = NONE) -> Interval:
        """What the sum may be, for counters in an interval."""
        total = counter.scaled(sum.factor).plus(Interval.of(sum.const))
        for value, times in sum.terms:
            total = total.plus(self.range(value).scaled(times))
        return total
