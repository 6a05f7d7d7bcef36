"""Quotients and remainders as symbols, simplified where the operands allow it.

Division by zero gives 0 for the quotient and for the remainder, as frontends write it out. A divisor that they keep
from being 0, `1 if d == 0 else d`, is therefore as good as d under a remainder.
"""

from __future__ import annotations

from math import gcd

from tileopt.passes.analysis.affine import ONE, ZERO, Bounds, Expr, Monomial, own_bounds, without
from tileopt.passes.analysis.conditions import single
from tileopt.passes.analysis.symbols import SymbolTable, guard, relate


class Division(SymbolTable):
    """Adds division to the symbol table."""

    def divide(self, a: Expr, d: Expr, known: Bounds = own_bounds) -> tuple[Expr, Expr]:
        """floor(a / d) and the remainder, which has the sign of d."""
        if a == ZERO or d == ZERO:
            return ZERO, ZERO
        if d.bounds(known).hi < 0:
            quotient, rest = self.divide(-a, -d, known)
            return quotient, -rest
        common = gcd(a.content(), d.content())
        a, d = a.exact_div(common), d.exact_div(common)
        plain = self.kept_from_zero(d, known)
        if plain is not None:
            quotient, _ = self._divide_positive(a, d, known)
            _, rest = self.divide(a, plain, known)
        else:
            quotient, rest = self._divide_positive(a, d, known)
        return quotient, rest * common

    def _divide_positive(self, a: Expr, d: Expr, known: Bounds) -> tuple[Expr, Expr]:
        """As `divide`, for a divisor that may be positive."""
        size = d.value
        whole = ZERO
        if size is not None:
            whole, a = a.split(size)
            if size == 1:
                return whole, ZERO
        elif d.bounds(known).lo >= 1:
            whole, a = _take_multiples(a, d)
        range_ = a.bounds(known)
        if range_.lo >= 0 and range_.hi < d.bounds(known).lo:
            return whole, a
        if size is not None:
            # floor((g*x + c) / d) = floor((x + c // g) / (d / g)) where g divides d.
            common = gcd(size, (a - a.offset).content())
            if common > 1:
                low = a.offset % common
                narrow = Expr.constant(size // common)
                quotient, rest = self._divide_positive((a - low).exact_div(common), narrow, known)
                return whole + quotient, rest * common + low
        quotient, rest = self._floor(a, d)
        return whole + quotient, rest

    def _floor(self, a: Expr, d: Expr) -> tuple[Expr, Expr]:
        above, below = a.bounds(), d.bounds()
        q, new = self.derived("floordiv", "({0} // {1})", (a, d), above.floor_div(below))
        r, _ = self.derived("mod", "({0} % {1})", (a, d), above.floor_mod(below))
        quotient, rest = Expr.symbol(q), Expr.symbol(r)
        if new:
            whole = a - d * quotient - rest
            positive, negative = (rest, d - rest - 1), (-rest, rest - d - 1)
            if below.lo >= 1:
                relate((q, r), [whole, -whole, *positive])
            else:
                guard((q, r), (d - 1,), (whole, -whole, *positive))
                if below.lo < 0:
                    guard((q, r), (-d - 1,), (whole, -whole, *negative))
            if below.lo >= 0 and above.lo >= 0:
                relate((q, r), [a - rest, a - quotient, a - d * quotient])
        return quotient, rest

    def truncate(self, a: Expr, d: Expr, known: Bounds = own_bounds) -> tuple[Expr, Expr]:
        """a / d rounded towards 0 and the remainder, which has the sign of a."""
        above, below = a.bounds(known), d.bounds(known)
        if above.lo >= 0 and below.lo >= 0:
            return self.divide(a, d, known)
        size = d.value
        if size == 0:
            return ZERO, ZERO
        if size and a.content() % size == 0:
            return a.split(size)
        q, new = self.derived("tdiv", "trunc({0} / {1})", (a, d), a.bounds().trunc_div(d.bounds()))
        r, _ = self.derived("tmod", "rem({0}, {1})", (a, d), a.bounds().trunc_mod(d.bounds()))
        quotient, rest = Expr.symbol(q), Expr.symbol(r)
        if new:
            whole = a - d * quotient - rest
            if d.bounds().lo >= 1 or d.bounds().hi <= -1:
                relate((q, r), [whole, -whole])
            for sign_a in (a, -a):
                for sign_d in (d, -d):
                    end = rest if sign_a == a else -rest
                    guard((q, r), (sign_a, sign_d - 1), (end, sign_d - end - 1, whole, -whole))
        return quotient, rest

    def kept_from_zero(self, d: Expr, known: Bounds) -> Expr | None:
        """y where d is `max(y, 1)` with y >= 0, or y with 1 in place of 0 and -1."""
        if len(d.terms) == 1:
            ((monomial, factor),) = d.terms.items()
            if factor == -1 and len(monomial) == 1 and monomial[0].kind == "min":
                a, b = monomial[0].args
                for one, other in ((a, b), (b, a)):
                    if one == -ONE and (-other).bounds(known).lo >= 0:
                        return -other
        choice = single(d)
        if choice is not None and choice.kind == "select":
            test, one, y = choice.args
            if one == ONE and test == self.zero_or_minus_one(y):
                return y
        return None

    def zero_or_minus_one(self, y: Expr) -> Expr:
        """The condition that a frontend tests before it divides by y: unsigned(y + 1) < 2."""
        return self.both(self.nonneg(y + 1), self.nonneg(-y))


def _take_multiples(a: Expr, d: Expr) -> tuple[Expr, Expr]:
    """q and r with a = d*q + r, where q takes the terms that the one term of d divides, or all of a."""
    if len(d.terms) != 1:
        whole = _ratio(a, d)
        return (ZERO, a) if whole is None else (Expr.constant(whole), ZERO)
    ((divisor, factor),) = d.terms.items()
    taken: dict[Monomial, int] = {}
    left: dict[Monomial, int] = {}
    for monomial, size in a.terms.items():
        rest = without(monomial, divisor)
        if rest is None or size % factor:
            left[monomial] = size
        else:
            taken[rest] = size // factor
    return Expr(taken), Expr(left)


def exact_ratio(a: Expr, d: Expr) -> Expr | None:
    """a / d where that is an expression whatever the symbols are."""
    size = d.value
    if size is not None:
        return a.exact_div(size) if size and a.content() % size == 0 else None
    if len(d.terms) != 1:
        k = _ratio(a, d)
        return None if k is None else Expr.constant(k)
    quotient, rest = _take_multiples(a, d)
    return None if rest.terms else quotient


def _ratio(a: Expr, d: Expr) -> int | None:
    """k where a = k * d."""
    monomial, factor = next(iter(d.terms.items()))
    k, left = divmod(a.terms.get(monomial, 0), factor)
    return k if not left and a == d * k else None
