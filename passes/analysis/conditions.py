"""Conditions as expressions that are 0 or 1: what follows from one, and what one follows from."""

from __future__ import annotations

from typing import TypeAlias

from tileopt.passes.analysis.affine import ONE, ZERO, Expr, Symbol

Facts: TypeAlias = tuple[Expr, ...]  # none of them is negative
ALTERNATIVES_MAX = 12


def assumed(condition: Expr, truth: bool = True) -> Facts:
    """Facts where the condition is `truth`. May say less than the condition."""
    negation = negated(condition)
    if negation is not None:
        return assumed(negation, not truth)
    symbol = single(condition)
    if symbol is None:
        return ()
    if symbol.kind == "and" and truth:
        return tuple(f for arg in symbol.args for f in assumed(arg))
    if symbol.kind == "zero" and not truth:
        # e != 0 says something linear only where the sign of e is known.
        (e,) = symbol.args
        range_ = e.bounds()
        return (e - 1,) if range_.lo >= 0 else (-e - 1,) if range_.hi <= 0 else (-condition,)
    if symbol.kind == "select":
        # c ? a : 0 and c ? 1 : a, which short-circuit evaluation makes.
        test, a, b = symbol.args
        if b == (ZERO if truth else ONE):
            return assumed(test) + assumed(a, truth)
        return assumed(test, False) + assumed(b, truth) if a == (ZERO if truth else ONE) else ()
    found = alternatives(condition, truth)
    if found is None:
        return (condition - 1,) if truth else (-condition,)
    return found[0] if len(found) == 1 else ()


def alternatives(condition: Expr, truth: bool = True) -> list[Facts] | None:
    """The condition is `truth` exactly where all facts of one of these hold. None where it cannot be told so."""
    value = condition.value
    if value is not None:
        return [()] if bool(value) is truth else []
    negation = negated(condition)
    if negation is not None:
        return alternatives(negation, not truth)
    symbol = single(condition)
    if symbol is None:
        return None
    match symbol.kind:
        case "nonneg":
            (e,) = symbol.args
            return [(e,)] if truth else [(-e - 1,)]
        case "zero":
            (e,) = symbol.args
            return [(e, -e)] if truth else [(e - 1,), (-e - 1,)]
        case "and":
            a, b = symbol.args
            return _both(a, True, b, True) if truth else _either(alternatives(a, False), alternatives(b, False))
        case "select":
            test, a, b = symbol.args
            return _either(_both(test, True, a, truth), _both(test, False, b, truth))
        case _:
            return None


def _both(a: Expr, a_truth: bool, b: Expr, b_truth: bool) -> list[Facts] | None:
    left, right = alternatives(a, a_truth), alternatives(b, b_truth)
    if left == [] or right == []:
        return []
    if left is None or right is None or len(left) * len(right) > ALTERNATIVES_MAX:
        return None
    return [x + y for x in left for y in right]


def _either(left: list[Facts] | None, right: list[Facts] | None) -> list[Facts] | None:
    if left is None or right is None or len(left) + len(right) > ALTERNATIVES_MAX:
        return None
    return left + right


def single(condition: Expr) -> Symbol | None:
    """The symbol that the expression is, if it is one."""
    if len(condition.terms) == 1:
        ((monomial, factor),) = condition.terms.items()
        if factor == 1 and len(monomial) == 1:
            return monomial[0]
    return None


def negated(condition: Expr) -> Expr | None:
    """c where the condition is written 1 - c."""
    if len(condition.terms) == 2 and condition.offset == 1:
        rest = ONE - condition
        return rest if single(rest) is not None else None
    return None
