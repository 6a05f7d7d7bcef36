"""Proves that an integer expression is never negative, from expressions that are known not to be.

First, known equations remove a symbol each, and known bounds of single symbols narrow their intervals. Then the search
subtracts from the goal positive multiples of known expressions (also times a symbol that is not negative), each chosen
to cancel a term that could make the goal negative, until the intervals settle the rest; it looks first at goals with
the fewest such terms. Every step is sound, so an answer True is a proof; False means only that none was found within
the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import combinations
from math import gcd

from tileopt.passes.analysis.affine import (
    Bounds,
    Expr,
    Monomial,
    Symbol,
    monomial_bounds,
    own_bounds,
    tightened,
    without,
)
from tileopt.passes.analysis.ranges import Interval

BUDGET = 200  # goals looked at in one proof
REFUTE_BUDGET = 400  # the same where any known expression may be the first
MOST = 96  # known expressions taken into account
TERMS_MAX = 12  # a goal with more terms is given up
_MINUS_ONE = Expr.constant(-1)


class Prover:
    """Answers from one set of known expressions and the relations written on their symbols."""

    def __init__(self, known: Iterable[Expr] = (), bounds: Bounds = own_bounds) -> None:
        self._given: list[Expr] = []
        self._have: set[Expr] = set()
        self._symbols: set[Symbol] = set()
        self._outer_bounds = bounds
        self._narrow: dict[Symbol, Interval] = {}
        self._ready = False
        self._usable: list[Expr] = []
        self._values: dict[Symbol, Expr] = {}
        self._by_term: dict[tuple[Monomial, bool], list[Expr]] = {}
        self._intervals: dict[Monomial, Interval] = {}
        self._failed: set[Expr] = set()
        self.add(known)

    def add(self, facts: Iterable[Expr]) -> None:
        """Takes in more expressions that are never negative."""
        for fact in facts:
            self._take(fact)

    def _take(self, fact: Expr) -> None:
        fact = tightened(fact)
        if fact not in self._have and len(self._given) < MOST:
            self._have.add(fact)
            self._given.append(fact)
            self._ready = False
            self._learn(fact)

    def _learn(self, expr: Expr) -> None:
        """Takes in the relations of every symbol in `expr`."""
        for symbol in expr.symbols():
            if symbol not in self._symbols:
                self._symbols.add(symbol)
                for relation in symbol.relations:
                    self._take(relation)

    def bounds(self, symbol: Symbol) -> Interval:
        found = self._narrow.get(symbol)
        return self._outer_bounds(symbol) if found is None else found

    def nonneg(self, goal: Expr, budget: int = BUDGET) -> bool:
        """Whether a proof of goal >= 0 was found."""
        goal = tightened(goal)
        if not self._pulls(goal):
            return True
        self._learn(goal)
        self._prepare()
        if goal in self._failed:
            return False
        if self._search([goal.substitute(self._values)], budget):
            return True
        if budget >= BUDGET:
            self._failed.add(goal)
        return False

    def solved(self, goal: Expr) -> Expr:
        """The goal without the symbols that known equations give."""
        self._prepare()
        return goal.substitute(self._values)

    def refuted(self, budget: int = REFUTE_BUDGET) -> bool:
        """Whether the known expressions were found to contradict each other: the place is never reached."""
        self._prepare()
        return self._search([_MINUS_ONE - e for e in self._usable], budget)

    def contradictory(self) -> bool:
        """Whether one known expression alone is negative by its interval. Says less than `refuted`, at once."""
        self._prepare()
        return any(f.bounds(self.bounds).hi < 0 for f in self._usable)

    def _prepare(self) -> None:
        """Solves the equations, narrows the intervals and sorts what is left by its terms."""
        if self._ready:
            return
        self._ready = True
        self._failed.clear()
        self._intervals.clear()
        self._values = _solved(self._given)
        facts = [f.substitute(self._values) for f in self._given]
        for symbol, value in self._values.items():
            interval = self.bounds(symbol)
            facts += [value - interval.lo, Expr.constant(interval.hi) - value]
        facts = list(dict.fromkeys(tightened(f) for f in facts))
        for fact in facts:
            self._tighten(fact)
        self._by_term.clear()
        self._usable = [f for f in facts if f.bounds(self.bounds).lo < 0]
        for fact in self._usable:
            for monomial, factor in fact.terms.items():
                if monomial:
                    self._by_term.setdefault((monomial, factor > 0), []).append(fact)

    def _tighten(self, fact: Expr) -> None:
        """Takes the bound of a single symbol from factor * symbol + offset >= 0."""
        rest = [(m, c) for m, c in fact.terms.items() if m]
        if len(rest) != 1 or len(rest[0][0]) != 1:
            return
        (symbol,), factor = rest[0]
        old, offset = self.bounds(symbol), fact.offset
        new = Interval(-(offset // factor), old.hi) if factor > 0 else Interval(old.lo, offset // -factor)
        if new.lo <= new.hi:
            self._narrow[symbol] = old.meet(new)

    def _interval(self, monomial: Monomial) -> Interval:
        found = self._intervals.get(monomial)
        if found is None:
            found = self._intervals[monomial] = monomial_bounds(monomial, self.bounds)
        return found

    def _pulls(self, goal: Expr) -> list[tuple[int, Monomial, int]]:
        """The terms that can pull the goal down, the worst first; none if it is never negative."""
        least = 0
        found: list[tuple[int, Monomial, int]] = []
        for monomial, factor in goal.terms.items():
            interval = self._interval(monomial) if monomial else _ONE
            low = factor * (interval.lo if factor > 0 else interval.hi)
            least += low
            if low < 0:
                found.append((low, monomial, factor))
        found.sort(key=_by_low)
        return found if least < 0 else []

    def _search(self, goals: Iterable[Expr], budget: int) -> bool:
        heap: list[tuple[int, int, int, Expr, list[tuple[int, Monomial, int]]]] = []
        best: dict[
            frozenset[tuple[Monomial, int]], int
        ] = {}  # the greatest offset seen with the same terms: a smaller one is harder to prove
        depth = seen = 0
        while True:
            for goal in goals:
                goal = tightened(goal)
                if len(goal.terms) > TERMS_MAX:
                    continue
                terms, offset = frozenset(t for t in goal.terms.items() if t[0]), goal.offset
                if terms in best and best[terms] >= offset:
                    continue
                best[terms] = offset
                seen += 1
                pulls = self._pulls(goal)
                if not pulls:
                    return True
                cost = 2 * depth + len(pulls) + len(goal.terms)
                heappush(heap, (cost, -seen, depth, goal, pulls))
            if not heap or seen > budget:
                return False
            _, _, depth, goal, pulls = heappop(heap)
            depth += 1
            goals = self._steps(goal, pulls)

    def _steps(self, goal: Expr, pulls: list[tuple[int, Monomial, int]]) -> Iterator[Expr]:
        """Goals that suffice for this one: for each term that can pull it below 0, one a known expression."""
        for _, monomial, factor in pulls:
            for known in self._by_term.get((monomial, factor > 0), ()):
                yield _cancelled(goal, factor, known, known.terms[monomial])
            if len(monomial) > 1:
                yield from self._product_steps(goal, monomial, factor)
        if len(pulls) == 1 and not pulls[0][1]:
            yield from self._offset_steps(goal)

    def _offset_steps(self, goal: Expr) -> Iterator[Expr]:
        """Where only the constant is negative: a known expression may say that the rest is large enough."""
        for monomial, factor in goal.terms.items():
            for known in self._by_term.get((monomial, factor > 0), ()) if monomial else ():
                if known.offset < 0:
                    yield _cancelled(goal, factor, known, known.terms[monomial])

    def _product_steps(self, goal: Expr, monomial: Monomial, factor: int) -> Iterator[Expr]:
        """As above with known expressions times other symbols of the term, which are not negative."""
        for size in (1, 2):
            if size >= len(monomial):
                break
            for others in dict.fromkeys(combinations(monomial, size)):
                if any(self.bounds(symbol).lo < 0 for symbol in others):
                    continue
                rest = without(monomial, others)
                if not rest:
                    continue
                for known in self._by_term.get((rest, factor > 0), ()):
                    yield _cancelled(goal, factor, known * Expr({others: 1}), known.terms[rest])


_ONE = Interval(1, 1)


def _by_low(pull: tuple[int, Monomial, int]) -> int:
    return pull[0]


def _cancelled(goal: Expr, factor: int, known: Expr, size: int) -> Expr:
    """|size| * goal - |factor| * known, by their common divisor: has no term of `factor` and `size` left.

    The goal is an integer: it is not negative where a * goal is not below 1 - a.
    """
    common = gcd(factor, size)
    a, b = abs(size // common), abs(factor // common)
    terms = {m: c * a for m, c in goal.terms.items()} if a != 1 else dict(goal.terms)
    if a != 1:
        terms[()] = terms.get((), 0) + a - 1
    for monomial, amount in known.terms.items():
        terms[monomial] = terms.get(monomial, 0) - b * amount
    return Expr(terms)


def _solved(facts: list[Expr]) -> dict[Symbol, Expr]:
    """From each affine equation among the facts (both it and its negative are never negative), the value of a symbol.

    The values hold no symbol that has a value itself.
    """
    have = set(facts)
    values: dict[Symbol, Expr] = {}
    for fact in facts:
        if fact.offset < 0 or -fact not in have or not fact.terms:
            continue
        equation = fact.substitute(values)
        if any(len(m) > 1 for m in equation.terms):
            continue
        units = [(m[0], c) for m, c in equation.terms.items() if m and c in (1, -1)]
        if not units:
            continue
        symbol, factor = max(units, key=lambda u: u[0].id)
        value = (Expr.symbol(symbol, factor) - equation) * factor
        values = {s: v.substitute({symbol: value}) for s, v in values.items()}
        values[symbol] = value
    return values
