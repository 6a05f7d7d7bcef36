"""Facts of structured control flow: conditions refine what is known in their region, loops bound what they count.

A loop that carries integers is walked twice. The first walk takes a carried integer for anything that its type can
hold; what that walk finds of the next iteration's value (its range; that it grows by a fixed amount; what divides it)
is then sound for the second walk, without a fixpoint.

`scf.for` means exact arithmetic, as Python's `range` does: the induction value is first + step * n and below the end.
A lowering that adds the step in 64 bits must not let that wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tileopt.passes.analysis.affine import ZERO, Expr, Symbol
from tileopt.passes.analysis.conditions import assumed, single
from tileopt.passes.analysis.facts import Fact, Handler, KernelFacts, width_of
from tileopt.passes.analysis.loop_invariants import Found, Guess, established, limits
from tileopt.passes.analysis.ranges import Interval
from tileopt.passes.analysis.scope import Scope
from tileopt.passes.analysis.symbols import relate, unwrapped

TRIPS_MAX = 2**63


def _if(facts: KernelFacts, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    condition = facts.expr(op.cond)
    yields: list[list[Fact]] = []
    for region, truth in ((op.true_region, True), (op.false_region, False)):
        if region.blocks.first is None:
            continue
        scope = Scope(facts.current)
        scope.assume(assumed(condition, truth))
        facts.walk(region.block, scope)
        yields.append([facts.of(v) if width_of(v.type) else _NOTHING for v in _yielded(region.block)])
    for i, result in enumerate(op.results):
        if width_of(result.type) is not None:
            then, other = yields[0][i], yields[1][i]
            chosen = facts.symbols.select(condition, then.expr, other.expr)
            facts.set(result, chosen, then.range.join(other.range))


_NOTHING = Fact(Expr.constant(0), Interval.of(0))


def _yielded(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    return last.operands if isinstance(last, scf.YieldOp) else ()


def _for(facts: KernelFacts, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    block = op.body.block
    counter, runs = _induction(facts, op)

    def walk() -> Sequence[SSAValue]:
        body = Scope(facts.current)
        body.assume(runs)
        facts.walk(block, body)
        return _yielded(block)

    _carried(facts, op, block.args[1:], op.iter_args, walk, counter)


def _induction(facts: KernelFacts, op: scf.ForOp) -> tuple[Expr | None, list[Expr]]:
    """Sets the induction value's fact. Gives the number of iterations done before, and what the body may assume."""
    induction = op.body.block.args[0]
    label = induction.name_hint or "k"
    width = width_of(induction.type) or 64
    first, end, step = facts.expr(op.lb), facts.expr(op.ub), facts.expr(op.step)
    low, high, by = facts.range(op.lb), facts.range(op.ub), facts.range(op.step)
    top = max(high.hi - 1, Interval.signed(width).lo)
    if by.lo < 0:
        symbol = facts.symbols.leaf("carried", label, Interval(Interval.signed(width).lo, top), op)
        value = Expr.symbol(symbol)
        facts.assign(induction, Fact(value, symbol.bounds))
        return None, [end - value - 1]
    size = step.value
    most = max(top - low.lo, 0)
    trips = Interval(0, most // size if size else most if by.lo >= 1 else TRIPS_MAX)
    plain = first == ZERO and size == 1
    counted = facts.symbols.leaf("trip", label if plain else f"{label}#", trips, op)
    counter = Expr.symbol(counted)
    facts.loops[op] = (counted,)
    range_ = Interval(low.lo, max(top, low.lo))
    if size is not None:
        value = first + counter * size
        runs = [end - value - 1]
        counted.relations += runs
    else:
        # A step known at run time only: the value is a symbol of its own, tied to the counter.
        own = facts.symbols.leaf("induction", label, range_, op)
        value = Expr.symbol(own)
        facts.loops[op] = (counted, own)
        tie = value - first - counter * step
        runs = [end - value - 1, value - first]
        for symbol in (own, counted):
            symbol.relations += [tie, -tie, *runs]
    facts.assign(induction, Fact(value, range_))
    return counter, runs


def _carried(
    facts: KernelFacts,
    loop: Operation,
    arguments: Sequence[BlockArgument],
    inits: Sequence[SSAValue],
    walk: Callable[[], Sequence[SSAValue]],
    counter: Expr | None,
) -> None:
    """Walks over a loop whose `arguments` begin as `inits` and go on as `walk` returns; sets the loop's results."""
    integers = [i for i, a in enumerate(arguments) if width_of(a.type) is not None]
    before = [facts.of(v) if width_of(v.type) is not None else _NOTHING for v in inits]
    guesses: dict[int, Symbol] = {}
    for i in integers:
        fact = facts.unknown(arguments[i], "carried", loop)
        (guesses[i],) = fact.expr.symbols()
    after = walk()
    held: list[Guess] = []
    if integers:
        better = {
            i: _next(facts, loop, arguments[i], guesses[i], before[i], facts.of(after[i]), counter) for i in integers
        }
        for i in integers:
            facts.assign(arguments[i], better[i])
        open_ = {i: before[i] for i in integers if width_of(arguments[i].type) != 1 and _is_open(better[i], loop)}
        found = established(facts, loop, arguments, open_, guesses, after, walk) if open_ else None
        held = [] if found is None else found.guesses
        for i in open_:
            if found is None:
                facts.assign(arguments[i], better[i])
            else:
                facts.assign(arguments[i], _narrowed(facts, loop, arguments[i], found, i, before[i], counter))
        after = walk()
    for i in integers:
        if i < len(loop.results) and isinstance(loop, scf.ForOp):
            _result(facts, loop, loop.results[i], before[i], facts.of(after[i]))
            left = facts.of(loop.results[i]).expr
            own = [s for s in left.symbols() if s.owner is loop]  # what holds here need not hold of others elsewhere
            relate(tuple(own), [g.fact(left) for g in held if g.number == i])


def _narrowed(
    facts: KernelFacts,
    loop: Operation,
    argument: BlockArgument,
    found: Found,
    index: int,
    init: Fact,
    counter: Expr | None,
) -> Fact:
    """The carried argument's fact where invariants were found."""
    held = [g for g in found.guesses if g.number == index]
    known = limits(held, width_of(argument.type) or 64)
    fact = _next(facts, loop, argument, found.symbols[index], init, facts.of(found.after[index]), counter, known)
    if _is_open(fact, loop):
        (symbol,) = fact.expr.symbols()
        symbol.relations += [g.fact(fact.expr) for g in held]
    return fact


def _is_open(fact: Fact, loop: Operation) -> bool:
    """Whether a value that a loop carries is neither the first one, nor told by the loop's counter."""
    content = fact.expr.content()
    symbol = single(fact.expr.exact_div(content)) if content else None
    return symbol is not None and symbol.kind == "carried" and symbol.owner is loop


def _next(
    facts: KernelFacts,
    loop: Operation,
    argument: BlockArgument,
    guess: Symbol,
    init: Fact,
    after: Fact,
    counter: Expr | None,
    known: Interval | None = None,
) -> Fact:
    """The carried argument's fact, from what one walk with the argument taken for anything in `known` made of it."""
    width = width_of(argument.type) or 64
    full = Interval.signed(width)
    this = Expr.symbol(guess)
    growth = after.expr - this
    if growth.value == 0:
        return init
    wrapped = unwrapped(after.expr, width)
    if counter is not None:
        by = wrapped - this
        if guess not in by.symbols() and facts.invariant(by, loop):
            # Modulo the type's size the value is init + by * counter; it is equal where that always fits.
            value = init.expr + by * counter
            range_ = init.range.plus(by.bounds(facts.current.bounds).times(counter.bounds()))
            if range_.within(full):
                return Fact(value, range_)
    bounds = init.range.join(after.range)
    steps = growth.bounds()
    exact = guess not in growth.symbols()  # each step adds the growth without a wrap
    if exact and steps.lo >= 0:
        bounds = bounds.meet(Interval(init.range.lo, full.hi))
    if exact and steps.hi <= 0:
        bounds = bounds.meet(Interval(full.lo, init.range.hi))
    if known is not None:
        bounds = bounds.meet(known)
    divisor = _common_divisor(guess, init.expr, after.expr, width)
    label = argument.name_hint or "carried"
    symbol = facts.symbols.leaf("carried", label, Interval(-(-bounds.lo // divisor), bounds.hi // divisor), loop)
    value = Expr.symbol(symbol, divisor)
    if exact and facts.invariant(growth, loop):
        done = facts.symbols.leaf("trip", f"{label}#", Interval(0, TRIPS_MAX), loop)
        tie = value - init.expr - growth * Expr.symbol(done)
        for tied in (symbol, done):
            tied.relations += [tie, -tie]
        facts.loops[loop] = (*facts.loops.get(loop, ()), done, symbol)
    return Fact(value, bounds)


def _common_divisor(guess: Symbol, init: Expr, after: Expr, width: int) -> int:
    """A power of two that divides a carried value always: the first one, and each next one if it divides this one."""
    wide = unwrapped(after, width)
    rest = Expr({m: c for m, c in wide.terms.items() if guess not in m})
    content = gcd(init.content(), rest.content())
    divisor = content & -content if content else 1
    return min(divisor, 1 << (width - 1))


def _result(facts: KernelFacts, loop: Operation, result: SSAValue, init: Fact, last: Fact) -> None:
    """A loop gives its first value if it never runs, else the last one that its body made."""
    if init.expr == last.expr and facts.invariant(last.expr, loop):
        facts.assign(result, init)
        return
    content = gcd(init.expr.content(), last.expr.content())
    divisor = content & -content if content else 1
    bounds = init.range.join(last.range)
    label = result.name_hint or "result"
    symbol = facts.symbols.leaf("result", label, Interval(-(-bounds.lo // divisor), bounds.hi // divisor), loop)
    facts.assign(result, Fact(Expr.symbol(symbol, divisor), bounds))


def _while(facts: KernelFacts, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    before, after = op.before_region.block, op.after_region.block

    def walk() -> Sequence[SSAValue]:
        facts.walk(before, Scope(facts.current))
        test = before.last_op
        assert isinstance(test, scf.ConditionOp)
        passed, stopped = facts.scope(test), Scope(facts.current)
        inner = Scope(passed)
        inner.assume(assumed(facts.expr(test.condition)))
        ended = assumed(facts.expr(test.condition), False)
        stopped.assume(ended)
        left: dict[Symbol, Symbol] = {}
        for value, argument, result in zip(test.args, after.args, op.results, strict=True):
            if width_of(value.type) is not None:
                fact = facts.of(value)
                facts.assign(argument, Fact(fact.expr, fact.range.meet(fact.expr.bounds(inner.bounds))))
                last = facts.unknown(result, "result", op, fact.range.meet(fact.expr.bounds(stopped.bounds)))
                symbol, end = single(fact.expr), single(last.expr)
                if symbol is not None and symbol.owner is op and end is not None:
                    left[symbol] = end
        _hand_on(facts, op, left, ended)
        facts.walk(after, inner)
        return _yielded(after)

    _carried(facts, op, before.args, op.arguments, walk, None)


def _hand_on(facts: KernelFacts, loop: Operation, left: dict[Symbol, Symbol], ended: Sequence[Expr]) -> None:
    """What a loop leaves is what it carried when its test failed: `left` says which result is which carried value."""
    values = {carried: Expr.symbol(result) for carried, result in left.items()}
    facts_of_all = dict.fromkeys([*ended, *(r for carried in left for r in carried.relations)])
    for fact in facts_of_all:
        moved = fact.symbols() & left.keys()
        if moved and all(facts.invariant(Expr.symbol(s), loop) for s in fact.symbols() - moved):
            relate(tuple(left[s] for s in moved), [fact.substitute(values)])


HANDLERS: dict[type[Operation], Handler] = {scf.IfOp: _if, scf.ForOp: _for, scf.WhileOp: _while}
