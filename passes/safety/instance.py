"""One run of an access by some block: what holds there, completed by what that unlocks."""

from __future__ import annotations

from collections.abc import Iterable

from tileopt.passes.analysis.affine import Bounds, Expr, Symbol, closure
from tileopt.passes.analysis.conditions import alternatives
from tileopt.passes.analysis.prover import REFUTE_BUDGET, Prover
from tileopt.passes.analysis.ranges import Interval

ROUNDS = 5
BUDGET = 60  # goals looked at in one proof: most are plain or false
CASE_DEPTH = 3
CASE_BUDGET = 60


class Instance:
    """The facts of one run: the conditions on the way, that some element is inside the array, and, once unlocked, all
    that a quotient, a minimum or a choice is known to be where its guard is proved."""

    def __init__(self, known: Iterable[Expr], roots: Iterable[Expr], bounds: Bounds) -> None:
        self.known = list(known)
        self.roots = list(roots)
        self._bounds = bounds
        self._done = False
        self._tried: dict[Expr, int] = {}
        self._cases_left = CASE_BUDGET
        self.prover = Prover(self.known, bounds)
        self.impossible = self.prover.contradictory()

    def bounds(self, symbol: Symbol) -> Interval:
        return self._bounds(symbol)

    def nonneg(self, goal: Expr) -> bool:
        return self.prover.nonneg(goal, BUDGET)

    def symbols(self) -> list[Symbol]:
        """All symbols that the run's facts rest on, in the order in which they were made."""
        found = closure([*self.roots, *self.known])
        while True:
            more = closure(r for s in found for r in s.relations) - found
            if not more:
                return sorted(found, key=lambda s: s.id)
            found |= more

    def equalities(self) -> list[Expr]:
        """Expressions that are 0 in this run."""
        facts = {r for s in self.symbols() for r in s.relations} | set(self.known)
        return [f for f in facts if f.terms and -f in facts and max(f.terms.values()) > 0]

    def unlock(self) -> None:
        """Adds what guarded relations say where their guards hold, until no more do. Done once."""
        if self._done:
            return
        self._done = True
        unlocked: set[tuple[Symbol, int]] = set()
        for _ in range(ROUNDS):
            new: list[Expr] = []
            for symbol in self.symbols():
                for i, (guard, relations) in enumerate(symbol.guarded):
                    if (symbol, i) not in unlocked and all(self._holds(g) for g in guard):
                        unlocked.add((symbol, i))
                        new += [r for r in relations if r not in self.known]
            if not new:
                break
            self.known += dict.fromkeys(new)
            self.prover.add(new)

    def _holds(self, goal: Expr) -> bool:
        if self.nonneg(goal):
            return True
        # By cases only where the guard is that a divisor is positive, or decides what an offset is the minimum of; and
        # once for each state of knowledge.
        if not any(goal == s.args[1] - 1 for s in self.symbols() if s.kind in ("floordiv", "mod", "tdiv")):
            minima = [s for root in self.roots for s in root.symbols() if s.kind == "min"]
            if not any(goal in guard for s in minima for guard, _ in s.guarded):
                return False
        if self._tried.get(goal) == len(self.known):
            return False
        self._tried[goal] = len(self.known)
        self._cases_left = CASE_BUDGET
        return self._refuted([*self.known, -goal - 1], goal, CASE_DEPTH)

    def _refuted(self, known: list[Expr], goal: Expr, depth: int) -> bool:
        """Whether `known` is contradictory, by cases over the symbols that `goal` rests on."""
        self._cases_left -= 1
        prover = Prover(known, self._bounds)
        if prover.refuted(2 * BUDGET if depth else REFUTE_BUDGET):
            return True
        if depth == 0 or self._cases_left <= 0:
            return False
        have = set(known)
        for symbol in sorted(closure([goal, *self.roots]), key=lambda s: -s.id):
            options = [c for c in cases(symbol) if not any(-f - 1 in have for f in c)]
            if not options or any(set(c) <= have for c in options):
                continue
            if all(self._refuted([*known, *case], goal, depth - 1) for case in options):
                return True
            if self._cases_left <= 0:
                break
        return False


def cases(symbol: Symbol) -> list[tuple[Expr, ...]]:
    """What may be the case for a symbol: in each run all facts of at least one of these hold. Empty if unknown."""
    guarded = [(*guard, *relations) for guard, relations in symbol.guarded]
    if symbol.kind == "min":
        return guarded
    if symbol.kind == "select":
        told = all(alternatives(symbol.args[0], truth) is not None for truth in (True, False))
        return guarded if told else []
    if symbol.kind in ("floordiv", "mod", "tdiv", "tmod") and guarded:
        divisor, this = symbol.args[1], Expr.symbol(symbol)
        return [*guarded, (divisor, -divisor, this, -this)]
    return []
