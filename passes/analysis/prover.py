"""Proves that an integer expression is never negative, from expressions that are known not to be.

The search subtracts from the goal positive multiples of known expressions (also times a symbol that is not negative),
each chosen to cancel a term that could make the goal negative, until the intervals of the symbols settle the rest.
Every step is sound, so an answer True is a proof; False means only that none was found within the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd

from tileopt.passes.analysis.affine import Bounds, Expr, Monomial, Symbol, monomial_bounds, own_bounds
from tileopt.passes.analysis.symbols import tightened

DEPTH = 7  # known expressions that one proof may use
BUDGET = 400  # goals looked at in one proof
MOST = 96  # known expressions taken into account
_MINUS_ONE = Expr.constant(-1)


class Prover:
    """Answers from one set of known expressions and the relations written on their symbols."""

    def __init__(self, known: Iterable[Expr] = (), bounds: Bounds = own_bounds) -> None:
        self.bounds = bounds
        self.known: list[Expr] = []
        self._have: set[Expr] = set()
        self._symbols: set[Symbol] = set()
        self._by_term: dict[tuple[Monomial, bool], list[Expr]] = {}
        self._left = 0
        for expr in known:
            self._add(expr)

    def _add(self, expr: Expr) -> None:
        expr = tightened(expr)
        if expr in self._have or len(self.known) >= MOST:
            return
        self._have.add(expr)
        if expr.value is None or expr.offset < 0:
            self.known.append(expr)
        for monomial, factor in expr.terms.items():
            if monomial:
                self._by_term.setdefault((monomial, factor > 0), []).append(expr)
        self._learn(expr)

    def _learn(self, expr: Expr) -> None:
        """Takes in the relations of every symbol in `expr`."""
        for symbol in expr.symbols():
            if symbol not in self._symbols:
                self._symbols.add(symbol)
                for relation in symbol.relations:
                    self._add(relation)

    def nonneg(self, goal: Expr) -> bool:
        """Whether a proof of goal >= 0 was found."""
        self._learn(goal)
        self._left = BUDGET
        return self._search(goal, DEPTH, set())

    def refuted(self) -> bool:
        """Whether the known expressions were found to contradict each other: the place is never reached."""
        if any(e.bounds(self.bounds).hi < 0 for e in self.known):
            return True
        self._left = BUDGET
        seen: set[Expr] = set()
        return any(self._search(_MINUS_ONE - e, DEPTH - 1, seen) for e in reversed(self.known))

    def _search(self, goal: Expr, depth: int, seen: set[Expr]) -> bool:
        goal = tightened(goal)
        if goal.bounds(self.bounds).lo >= 0:
            return True
        if depth == 0 or goal in seen or self._left <= 0:
            return False
        self._left -= 1
        seen.add(goal)
        return any(self._search(smaller, depth - 1, seen) for smaller in self._steps(goal))

    def _steps(self, goal: Expr) -> Iterator[Expr]:
        """Goals that suffice for this one: for each term that can pull it below 0, one a known expression."""
        pulls = [(monomial_bounds(m, self.bounds).scaled(c).lo, m, c) for m, c in goal.terms.items() if m]
        for low, monomial, factor in sorted(pulls, key=lambda p: p[0]):
            if low >= 0:
                break
            for known in list(self._by_term.get((monomial, factor > 0), ())):
                yield _cancelled(goal, factor, known, known.terms[monomial])
            if len(monomial) > 1:
                yield from self._product_steps(goal, monomial, factor)

    def _product_steps(self, goal: Expr, monomial: Monomial, factor: int) -> Iterator[Expr]:
        """As above with known expressions times a symbol of the term that is not negative."""
        for i, symbol in enumerate(monomial):
            if self.bounds(symbol).lo < 0:
                continue
            rest = monomial[:i] + monomial[i + 1 :]
            for known in list(self._by_term.get((rest, factor > 0), ())):
                yield _cancelled(goal, factor, known * Expr.symbol(symbol), known.terms[rest])


def _cancelled(goal: Expr, factor: int, known: Expr, size: int) -> Expr:
    """|size| * goal - |factor| * known, by their common divisor: has no term of `factor` and `size` left."""
    common = gcd(factor, size)
    return goal * abs(size // common) - known * abs(factor // common)


def prove_nonneg(goal: Expr, known: Sequence[Expr] = (), bounds: Bounds = own_bounds) -> bool:
    """Whether goal >= 0 follows from `known`, by cases over what each quotient and minimum involved may be."""
    if goal.bounds(bounds).lo >= 0:
        return True
    return Prover(known, bounds).nonneg(goal)
