"""Facts of the arith dialect's integer ops. Values are read as two's complement; a bool is 0 or 1."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from tileopt.passes.analysis.affine import ONE, Expr
from tileopt.passes.analysis.division_facts import quotient, unsigned_quotient
from tileopt.passes.analysis.facts import Handler, KernelFacts, RangeOf, width_of
from tileopt.passes.analysis.ranges import Interval
from tileopt.passes.analysis.symbols import unwrapped


def _constant(facts: KernelFacts, op: Operation) -> None:
    result = op.results[0]
    width = width_of(result.type)
    value = op.properties.get("value")
    if width is None or not isinstance(value, IntegerAttr):
        return
    low = value.value.data & ((1 << width) - 1)
    signed = low if width == 1 or low < 1 << (width - 1) else low - (1 << width)
    facts.set(result, Expr.constant(signed))


def _scalar(handler: Handler) -> Handler:
    """The handler for results that are scalar integers; other results have no facts."""

    def run(facts: KernelFacts, op: Operation) -> None:
        if width_of(op.results[0].type) is not None:
            handler(facts, op)

    return run


def _polynomial(combine: Callable[[Expr, Expr], Expr], range_: Callable[[Interval, Interval], Interval]) -> Handler:
    def run(facts: KernelFacts, op: Operation) -> None:
        a, b = op.operands
        if width_of(a.type) == 1:
            facts.function(op)
            return
        facts.set(op.results[0], combine(facts.expr(a), facts.expr(b)), range_(facts.range(a), facts.range(b)))

    return run


def _extreme(smallest: bool, signed: bool) -> Handler:
    def run(facts: KernelFacts, op: Operation) -> None:
        a, b = op.operands
        if width_of(a.type) == 1 or not (signed or (facts.range(a).lo >= 0 and facts.range(b).lo >= 0)):
            facts.function(op)
            return
        x, y = facts.expr(a), facts.expr(b)
        known = facts.current.bounds
        if smallest:
            facts.set(op.results[0], facts.symbols.minimum(x, y, known), facts.range(a).min(facts.range(b)))
        else:
            facts.set(op.results[0], facts.symbols.maximum(x, y, known), facts.range(a).max(facts.range(b)))

    return run


def _and(facts: KernelFacts, op: Operation) -> None:
    a, b = op.operands
    result = op.results[0]
    if width_of(result.type) == 1:
        facts.set(result, facts.symbols.both(facts.expr(a), facts.expr(b)))
        return
    for value, other in ((a, b), (b, a)):
        mask = facts.expr(other).value
        if mask is not None and mask >= 0 and mask & (mask + 1) == 0:
            _, rest = facts.symbols.divide(facts.expr(value), Expr.constant(mask + 1), facts.current.bounds)
            facts.set(result, rest, facts.range(value).floor_mod(Interval.of(mask + 1)))
            return
    facts.function(op, _and_range(op))


def _and_range(op: Operation) -> RangeOf:
    width = width_of(op.results[0].type) or 64

    def of(ranges: list[Interval]) -> Interval:
        tops = [r.hi for r in ranges if r.lo >= 0]
        return Interval(0, min(tops)) if tops else Interval.signed(width)

    return of


def _or_range(op: Operation) -> RangeOf:
    width = width_of(op.results[0].type) or 64

    def of(ranges: list[Interval]) -> Interval:
        if all(r.lo >= 0 for r in ranges):
            return Interval(0, (1 << max(r.hi.bit_length() for r in ranges)) - 1)
        return Interval.signed(width)

    return of


def _or(facts: KernelFacts, op: Operation) -> None:
    a, b = op.operands
    if width_of(a.type) == 1:
        facts.set(op.results[0], facts.symbols.either(facts.expr(a), facts.expr(b)))
    else:
        facts.function(op, _or_range(op))


def _xor(facts: KernelFacts, op: Operation) -> None:
    a, b = op.operands
    x, y = facts.expr(a), facts.expr(b)
    if width_of(a.type) != 1:
        range_ = _or_range(op)
        bits = facts.symbols.xor(x, y, range_([x.bounds(), y.bounds()]))
        facts.set(op.results[0], bits, range_([facts.range(a), facts.range(b)]))
    elif x.value is not None or y.value is not None:
        constant, other = (x, y) if x.value is not None else (y, x)
        facts.set(op.results[0], ONE - other if constant.value else other)
    else:
        facts.function(op)


def _shift_left(facts: KernelFacts, op: Operation) -> None:
    a, b = op.operands
    amount = facts.expr(b).value
    width = width_of(a.type) or 64
    if amount is None or not 0 <= amount < width or width == 1:
        facts.function(op)
    else:
        facts.set(op.results[0], facts.expr(a) * (1 << amount), facts.range(a).scaled(1 << amount))


def _shift_right(signed: bool) -> Handler:
    def run(facts: KernelFacts, op: Operation) -> None:
        a, b = op.operands
        amount = facts.expr(b).value
        width = width_of(a.type) or 64
        fits = amount is not None and 0 <= amount < width and width > 1
        if amount is None or not fits or not (signed or facts.range(a).lo >= 0):
            facts.function(op)
            return
        quotient, _ = facts.symbols.divide(facts.expr(a), Expr.constant(1 << amount), facts.current.bounds)
        facts.set(op.results[0], quotient, facts.range(a).floor_div(Interval.of(1 << amount)))

    return run


def _select(facts: KernelFacts, op: Operation) -> None:
    condition, a, b = op.operands
    if width_of(condition.type) != 1:
        facts.function(op)
        return
    chosen = facts.symbols.select(facts.expr(condition), facts.expr(a), facts.expr(b), facts.current.bounds)
    facts.set(op.results[0], chosen, facts.range(a).join(facts.range(b)))


_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def _compare(facts: KernelFacts, op: Operation) -> None:
    assert isinstance(op, arith.CmpiOp)
    a, b = op.operands
    predicate = _PREDICATES[op.predicate.value.data]
    width = width_of(a.type)
    if width is None:
        return
    unsigned = predicate.startswith("u")
    # A bool is 0 or 1 here and 0 or -1 to a signed comparison.
    if width == 1 and predicate not in ("eq", "ne"):
        _opaque_condition(facts, op, predicate)
        return
    x, y = facts.expr(a), facts.expr(b)
    limit = facts.range(b).constant
    if predicate == "ult" and facts.range(a).lo < 0 and limit is not None and limit >= 0:
        # Below `limit` as an unsigned number: 0 <= x < limit, also for the x that a sum wrapped from.
        whole = unwrapped(x, width)
        range_ = facts.range(a) if whole == x else whole.bounds(facts.current.bounds)
        x = whole
        if range_.within(Interval(limit - (1 << width), (1 << width) - 1)):
            facts.set(op.results[0], facts.symbols.both(facts.symbols.nonneg(x), facts.symbols.nonneg(y - x - 1)))
            return
    if unsigned and min(facts.range(a).lo, facts.range(b).lo) < 0:
        _opaque_condition(facts, op, predicate)
        return
    if predicate in ("sgt", "ugt", "sge", "uge"):
        x, y = y, x
    known = facts.current.bounds
    if predicate == "eq":
        truth = facts.symbols.zero(x - y, known)
    elif predicate == "ne":
        truth = ONE - facts.symbols.zero(x - y, known)
    elif predicate[1:] in ("lt", "gt"):
        truth = facts.symbols.nonneg(y - x - 1, known)
    else:
        truth = facts.symbols.nonneg(y - x, known)
    facts.set(op.results[0], truth)


def _opaque_condition(facts: KernelFacts, op: Operation, predicate: str) -> None:
    args = tuple(facts.expr(o) for o in op.operands)
    truth = facts.symbols.opaque(f"{predicate}:{width_of(op.operands[0].type)}", args, Interval(0, 1))
    facts.set(op.results[0], truth)


def _extend_signed(facts: KernelFacts, op: Operation) -> None:
    (source,) = op.operands
    if width_of(source.type) == 1:
        facts.set(op.results[0], -facts.expr(source))
    else:
        facts.set(op.results[0], facts.expr(source), facts.range(source))


def _extend_unsigned(facts: KernelFacts, op: Operation) -> None:
    (source,) = op.operands
    width = width_of(source.type)
    if width is None:
        return
    if facts.range(source).lo >= 0:
        facts.set(op.results[0], facts.expr(source), facts.range(source))
        return
    _, rest = facts.symbols.divide(facts.expr(source), Expr.constant(1 << width))
    facts.set(op.results[0], rest, Interval(0, (1 << width) - 1))


def _truncate(facts: KernelFacts, op: Operation) -> None:
    (source,) = op.operands
    if width_of(op.results[0].type) == 1:
        _, bit = facts.symbols.divide(facts.expr(source), Expr.constant(2), facts.current.bounds)
        facts.set(op.results[0], bit, Interval(0, 1))
    else:
        facts.set(op.results[0], facts.expr(source), facts.range(source))


def _index_cast(facts: KernelFacts, op: Operation) -> None:
    source, target = width_of(op.operands[0].type), width_of(op.results[0].type)
    if source is not None and target is not None:
        (_truncate if target < source else _extend_signed)(facts, op)


_SCALAR: dict[type[Operation], Handler] = {
    arith.AddiOp: _polynomial(Expr.__add__, Interval.plus),
    arith.SubiOp: _polynomial(Expr.__sub__, Interval.minus),
    arith.MuliOp: _polynomial(Expr.__mul__, Interval.times),
    arith.DivSIOp: quotient("trunc", "quotient"),
    arith.RemSIOp: quotient("trunc", "rest"),
    arith.FloorDivSIOp: quotient("floor", "quotient"),
    arith.CeilDivSIOp: quotient("ceil", "quotient"),
    arith.DivUIOp: unsigned_quotient("quotient"),
    arith.RemUIOp: unsigned_quotient("rest"),
    arith.MinSIOp: _extreme(True, True),
    arith.MaxSIOp: _extreme(False, True),
    arith.MinUIOp: _extreme(True, False),
    arith.MaxUIOp: _extreme(False, False),
    arith.AndIOp: _and,
    arith.OrIOp: _or,
    arith.XOrIOp: _xor,
    arith.ShLIOp: _shift_left,
    arith.ShRSIOp: _shift_right(True),
    arith.ShRUIOp: _shift_right(False),
    arith.SelectOp: _select,
    arith.CmpiOp: _compare,
    arith.ExtSIOp: _extend_signed,
    arith.ExtUIOp: _extend_unsigned,
    arith.TruncIOp: _truncate,
    arith.IndexCastOp: _index_cast,
}

HANDLERS: dict[type[Operation], Handler] = {op: _scalar(handler) for op, handler in _SCALAR.items()}
HANDLERS[arith.ConstantOp] = _constant
