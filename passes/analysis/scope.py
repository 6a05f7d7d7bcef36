"""What is known in one region: the conditions that lead there and the bounds that follow from them."""

from __future__ import annotations

from collections.abc import Iterable

from tileopt.passes.analysis.affine import Expr, Symbol
from tileopt.passes.analysis.prover import Prover
from tileopt.passes.analysis.ranges import Interval


class Scope:
    """Known expressions (never negative in this region), those of the regions around it included."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.known: list[Expr] = [] if parent is None else list(parent.known)
        self._prover: tuple[int, Prover] | None = None
        self._bounds: dict[Symbol, Interval] = {} if parent is None else dict(parent._bounds)

    def bounds(self, symbol: Symbol) -> Interval:
        """The symbol's interval in this region."""
        return self._bounds.get(symbol, symbol.bounds)

    def has(self, expr: Expr) -> bool:
        """Whether it is known without a proof that the expression is never negative here."""
        return expr.bounds(self.bounds).lo >= 0 or expr in self.known

    def assume(self, facts: Iterable[Expr]) -> None:
        """Adds expressions that are never negative here."""
        for fact in facts:
            self.known.append(fact)
            self._tighten(fact)

    def _tighten(self, fact: Expr) -> None:
        """Draws bounds of single symbols from fact >= 0: factor * symbol >= -(most that the rest can be)."""
        for monomial, factor in fact.terms.items():
            if len(monomial) != 1:
                continue
            symbol = monomial[0]
            most = (fact - Expr.symbol(symbol, factor)).bounds(self.bounds).hi
            old = self.bounds(symbol)
            least = Interval(-(most // factor), old.hi) if factor > 0 else Interval(old.lo, most // -factor)
            if least.lo <= least.hi:
                self._bounds[symbol] = old.meet(least)

    def prover(self) -> Prover:
        """Answers from what is known here. The same one until more is known: it remembers what it could not prove."""
        if self._prover is None or self._prover[0] != len(self.known):
            self._prover = (len(self.known), Prover(self.known, self.bounds))
        return self._prover[1]
