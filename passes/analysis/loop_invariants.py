"""What holds of a carried integer before each iteration, guessed and then shown by induction.

A guess compares the value with one that does not change in the loop: where it begins, 0, or a bound that the next value
is made with (as in `h = (h + 1) % n`). Guesses that hold at first are assumed together for one walk over the body. If
the next values then fulfil all of them, they hold always; the others are dropped, and what is left is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from tileopt.passes.analysis.affine import ZERO, Expr, Symbol
from tileopt.passes.analysis.by_cases import proved
from tileopt.passes.analysis.conditions import single
from tileopt.passes.analysis.facts import Fact, KernelFacts, width_of
from tileopt.passes.analysis.ranges import Interval
from tileopt.passes.analysis.symbols import exact, unwrapped

ROUNDS = 3
DEPTH_MAX = 2  # loops in one another: each walk over the outer ones walks over the inner ones again


class Guess(NamedTuple):
    """Carried value `number` is at least (`above`) or at most `bound`."""

    number: int
    bound: Expr
    above: bool

    def fact(self, value: Expr) -> Expr:
        """What is never negative if the guess holds of the value."""
        return value - self.bound if self.above else self.bound - value


class Found(NamedTuple):
    """What the last walk assumed and showed: the guesses, and the symbol of each carried value."""

    guesses: list[Guess]
    symbols: dict[int, Symbol]
    after: Sequence[SSAValue]


def established(
    facts: KernelFacts,
    loop: Operation,
    arguments: Sequence[BlockArgument],
    before: Mapping[int, Fact],
    this: Mapping[int, Symbol],
    after: Sequence[SSAValue],
    walk: Callable[[], Sequence[SSAValue]],
) -> Found | None:
    """Invariants of the carried values that `before` has the first facts of; None where none is found.

    `after`: the next values as the last walk found them, made from the symbols `this`.
    """
    if _depth(loop) > DEPTH_MAX:
        return None
    made: list[Guess] = []
    for i in before:
        made += _guesses(facts, loop, i, before[i], facts.of(after[i]))
        width = width_of(arguments[i].type) or 64
        made += _stops(facts, loop, i, this[i], unwrapped(facts.of(after[i]).expr, width))
    guesses = list(dict.fromkeys(made))
    guesses = [g for g in guesses if proved(facts.current, g.fact(before[g.number].expr))]
    for _ in range(ROUNDS):
        if not guesses:
            return None
        symbols = {i: _assume(facts, loop, arguments[i], [g for g in guesses if g.number == i]) for i in before}
        after = walk()
        held = [g for g in guesses if _holds(facts, loop, g, facts.of(after[g.number]))]
        if len(held) == len(guesses):
            return Found(guesses, symbols, after)
        guesses = held
    return None


def limits(guesses: Iterable[Guess], width: int) -> Interval:
    """The interval that the guesses about one value leave."""
    low, high = Interval.signed(width)
    for guess in guesses:
        bounds = guess.bound.bounds()
        low, high = (max(low, bounds.lo), high) if guess.above else (low, min(high, bounds.hi))
    return Interval(low, max(low, high))


def _guesses(facts: KernelFacts, loop: Operation, index: int, first: Fact, following: Fact) -> Iterator[Guess]:
    yield Guess(index, first.expr, True)
    yield Guess(index, first.expr, False)
    if first.range.lo >= 0:
        yield Guess(index, ZERO, True)
    for bound in _tops(following.expr):
        if facts.invariant(bound, loop):
            yield Guess(index, bound, False)


def _stops(facts: KernelFacts, loop: Operation, index: int, this: Symbol, following: Expr) -> Iterator[Guess]:
    """Where a loop ends whose test keeps the value below a bound: a step behind it."""
    test = loop.before_region.block.last_op if isinstance(loop, scf.WhileOp) else None
    if not isinstance(test, scf.ConditionOp):
        return
    steps = [(option - Expr.symbol(this)).value for option in _options(following)]
    if None in steps:
        return
    by = max(step for step in steps if step is not None)
    for fact in _tested(facts.expr(test.condition)):
        room = exact(fact)
        end = room + Expr.symbol(this)
        if room.terms.get((this,)) == -1 and this not in end.symbols() and facts.invariant(end, loop):
            yield Guess(index, end + max(by, 0), False)


def _options(value: Expr) -> list[Expr]:
    """What a value may be, where it is a choice."""
    symbol = single(value)
    if symbol is None or symbol.kind != "select":
        return [value]
    return [option for arg in symbol.args[1:] for option in _options(unwrapped(arg, 64))]


def _tested(condition: Expr) -> Iterator[Expr]:
    """What is not negative where a condition holds, as the source says it."""
    symbol = single(condition)
    if symbol is None:
        return
    if symbol.kind == "nonneg":
        yield symbol.args[0]
    elif symbol.kind in ("and", "select"):
        for arg in symbol.args:
            yield from _tested(arg)


def _tops(value: Expr) -> Iterator[Expr]:
    """Expressions that the value may never exceed, by how it is made."""
    symbol = single(value)
    if symbol is None:
        return
    if symbol.kind in ("mod", "tmod"):
        yield symbol.args[1] - 1
    elif symbol.kind == "select":
        test, *options = symbol.args
        condition = single(test)
        if condition is not None and condition.kind == "nonneg":
            for option in options:
                # value <= end - 1, for which the test asks of what is chosen then
                yield condition.args[0] + option
        for option in options:
            yield from _tops(option)


def _assume(facts: KernelFacts, loop: Operation, argument: BlockArgument, guesses: list[Guess]) -> Symbol:
    label = argument.name_hint or "carried"
    symbol = facts.symbols.leaf("carried", label, limits(guesses, width_of(argument.type) or 64), loop)
    value = Expr.symbol(symbol)
    symbol.relations += [g.fact(value) for g in guesses]
    facts.assign(argument, Fact(value, symbol.bounds))
    return symbol


def _holds(facts: KernelFacts, loop: Operation, guess: Guess, value: Fact) -> bool:
    bound = guess.bound.value
    if bound is not None and (value.range.lo >= bound if guess.above else value.range.hi <= bound):
        return True
    region = loop.after_region if isinstance(loop, scf.WhileOp) else loop.regions[0]
    last = region.block.last_op
    return last is not None and proved(facts.scope(last), guess.fact(value.expr))


def _depth(loop: Operation) -> int:
    depth, current = 0, loop.parent_op()
    while current is not None:
        depth += isinstance(current, scf.ForOp | scf.WhileOp)
        current = current.parent_op()
    return depth + 1
