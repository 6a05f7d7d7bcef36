"""Proofs by cases, each with a proof of its own: what a minimum, a maximum or a choice is, or whether the bits that are
counted are those of 0."""

from __future__ import annotations

from collections.abc import Sequence

from tileopt.passes.analysis.affine import Expr, Symbol
from tileopt.passes.analysis.conditions import alternatives
from tileopt.passes.analysis.prover import Prover
from tileopt.passes.analysis.scope import Scope

DEPTH = 3  # choices in one another, as in max(0, min(i, n - 1))
BUDGET = 60


def proved(scope: Scope, goal: Expr) -> bool:
    """Whether goal >= 0 follows from what is known in the region."""
    return scope.prover().nonneg(goal) or _in_each_case(scope, scope.known, goal, DEPTH)


def _in_each_case(scope: Scope, known: Sequence[Expr], goal: Expr, depth: int) -> bool:
    choices = [s for s in goal.symbols() if cases(s)]
    if not choices or depth == 0:
        return False
    for case in cases(max(choices, key=_by_id)):
        more = [*known, *case]
        prover = Prover(more, scope.bounds)
        if prover.contradictory() or prover.nonneg(goal, BUDGET):
            continue
        # What a quotient or a rest is known to be where it was made is not known where the choice is.
        unlocked = _unlocked(prover, prover.solved(goal))
        if unlocked:
            more += unlocked
            prover.add(unlocked)
            if prover.nonneg(goal, BUDGET):
                continue
        # The chosen value itself may be a choice: say the goal of it.
        if not _in_each_case(scope, more, prover.solved(goal), depth - 1):
            return False
    return True


def _unlocked(prover: Prover, goal: Expr) -> list[Expr]:
    """What is known of the quotients and rests in the goal, since their divisors are."""
    return [
        relation
        for symbol in goal.symbols()
        if symbol.kind in ("floordiv", "mod", "tdiv", "tmod")
        for guard, relations in symbol.guarded
        if all(prover.nonneg(g, BUDGET) for g in guard)
        for relation in relations
    ]


def cases(symbol: Symbol) -> list[tuple[Expr, ...]]:
    """Facts of which all of at least one tuple hold; empty where the symbol is no choice."""
    if symbol.kind == "min" or symbol.kind.startswith(("math.cttz", "math.ctlz")):
        return [(*guard, *relations) for guard, relations in symbol.guarded]
    if symbol.kind != "select":
        return []
    this, (test, *options) = Expr.symbol(symbol), symbol.args
    found: list[tuple[Expr, ...]] = []
    for option, truth, fact in zip(options, (True, False), (test - 1, -test), strict=True):
        for facts in alternatives(test, truth) or [()]:
            found.append((*facts, fact, this - option, option - this))
    return found


def _by_id(symbol: Symbol) -> int:
    return symbol.id
