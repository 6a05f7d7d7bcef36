"""The symbols of one kernel, and the operations whose results are no polynomials.

Equal operations on equal operands give the same symbol, so that `x // 8` computed twice is one quantity. What is
written on a symbol (bounds, relations) holds wherever the symbol is used; what holds only behind a condition is
given as `known` and serves to simplify, but is never written down.

Division by zero has the meaning that the lowering gives it: x // 0 is 0 and x % 0 is x, so x == d*(x // d) + x % d
holds for every d.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from tileopt.passes.analysis.affine import ONE, ZERO, Bounds, Expr, Monomial, Symbol, own_bounds
from tileopt.passes.analysis.ranges import Interval

if TYPE_CHECKING:
    from xdsl.ir import Operation


class Symbols:
    """Makes symbols and finds them again."""

    def __init__(self) -> None:
        self._count = 0
        self._made: dict[tuple[str, tuple[Expr, ...]], Symbol] = {}

    def leaf(self, kind: str, label: str, bounds: Interval, owner: Operation | None = None) -> Symbol:
        """A new quantity that no other determines."""
        self._count += 1
        return Symbol(self._count, kind, label.replace("{", "(").replace("}", ")"), bounds, (), owner)

    def derived(self, kind: str, label: str, args: tuple[Expr, ...], bounds: Interval) -> tuple[Symbol, bool]:
        """The quantity that `kind` computes from `args`, and whether it is new."""
        key = (kind, args)
        found = self._made.get(key)
        if found is not None:
            return found, False
        self._count += 1
        symbol = self._made[key] = Symbol(self._count, kind, label, bounds, args)
        return symbol, True

    def opaque(self, kind: str, args: tuple[Expr, ...], bounds: Interval, divisor: int = 1) -> Expr:
        """A function of `args` of which only the bounds, and that `divisor` divides it, are known."""
        label = f"{kind}({', '.join(f'{{{i}}}' for i in range(len(args)))})"
        within = Interval(-(-bounds.lo // divisor), bounds.hi // divisor)
        symbol, _ = self.derived(kind, label, args, within)
        return Expr.symbol(symbol, divisor)

    def divide(self, a: Expr, d: Expr, known: Bounds = own_bounds) -> tuple[Expr, Expr]:
        """floor(a / d) and the remainder, which has the sign of d."""
        if a == ZERO or d == ZERO:
            return ZERO, a
        if d.bounds(known).hi < 0:
            quotient, rest = self.divide(-a, -d, known)
            return quotient, -rest
        common = gcd(a.content(), d.content())
        if common > 1:
            a, d = _exact(a, common), _exact(d, common)
        quotient, rest = self._divide_positive(a, d, known)
        return quotient, rest * common

    def _divide_positive(self, a: Expr, d: Expr, known: Bounds) -> tuple[Expr, Expr]:
        size = d.value
        if size is not None:
            whole, a = a.split(size)
            if size == 1:
                return whole, ZERO
        elif d.bounds(known).lo >= 1:
            whole, a = _take_multiples(a, d)
        else:
            whole = ZERO
        range_ = a.bounds(known)
        if range_.lo >= 0 and range_.hi < d.bounds(known).lo:
            return whole, a
        if size is not None:
            # floor((g*x + c) / d) = floor((x + c // g) / (d / g)) where g divides d.
            common = gcd(size, (a - a.offset).content())
            if common > 1:
                low = a.offset % common
                quotient, rest = self._divide_positive(_exact(a - low, common), Expr.constant(size // common), known)
                return whole + quotient, rest * common + low
        quotient, rest = self._quotient(a, d)
        return whole + quotient, rest

    def _quotient(self, a: Expr, d: Expr) -> tuple[Expr, Expr]:
        above, below = a.bounds(), d.bounds()
        q, new = self.derived("floordiv", "({0} // {1})", (a, d), above.floor_div(below))
        r, _ = self.derived("mod", "({0} % {1})", (a, d), above.floor_mod(below))
        quotient, rest = Expr.symbol(q), Expr.symbol(r)
        if new:
            whole = a - d * quotient - rest
            relations = [whole, -whole]
            if below.lo >= 1:
                relations += [d - rest - 1]
            if below.lo >= 0 and above.lo >= 0:
                relations += [a - rest, a - quotient]
            q.relations += relations
            r.relations += relations
        return quotient, rest

    def minimum(self, a: Expr, b: Expr, known: Bounds = own_bounds) -> Expr:
        difference = (a - b).bounds(known)
        if difference.hi <= 0:
            return a
        if difference.lo >= 0:
            return b
        common = max(1, gcd(a.content(), b.content()))
        a, b = _exact(a, common), _exact(b, common)
        a, b = sorted((a, b), key=_order)
        m, new = self.derived("min", "min({0}, {1})", (a, b), a.bounds().min(b.bounds()))
        least = Expr.symbol(m)
        if new:
            m.relations += [a - least, b - least]
        return least * common

    def maximum(self, a: Expr, b: Expr, known: Bounds = own_bounds) -> Expr:
        return -self.minimum(-a, -b, known)

    def select(self, condition: Expr, a: Expr, b: Expr, known: Bounds = own_bounds) -> Expr:
        """a where the condition (0 or 1) is 1, else b."""
        if a == b or condition == ONE:
            return a
        if condition == ZERO:
            return b
        negated = _negated(condition)
        if negated is not None:
            return self.select(negated, b, a, known)
        # nonneg(b - a - k) chooses between a and b: for k in 0..1 that is their minimum, and so on.
        test = _single(condition)
        if test is not None and test.kind == "nonneg":
            for shift in (0, 1):
                if test.args[0] == b - a - shift:
                    return self.minimum(a, b, known)
                if test.args[0] == a - b - shift:
                    return self.maximum(a, b, known)
        common = max(1, gcd(a.content(), b.content()))
        a, b = _exact(a, common), _exact(b, common)
        s, new = self.derived("select", "({1} if {0} else {2})", (condition, a, b), a.bounds().join(b.bounds()))
        chosen = Expr.symbol(s)
        if new:
            difference = (a - b).bounds()
            if difference.lo >= 0:
                s.relations += [a - chosen, chosen - b]
            if difference.hi <= 0:
                s.relations += [b - chosen, chosen - a]
        return chosen * common

    def nonneg(self, e: Expr, known: Bounds = own_bounds) -> Expr:
        """1 where e >= 0, else 0."""
        range_ = e.bounds(known)
        if range_.lo >= 0:
            return ONE
        if range_.hi < 0:
            return ZERO
        return Expr.symbol(self.derived("nonneg", "({0} >= 0)", (tightened(e),), Interval(0, 1))[0])

    def zero(self, e: Expr, known: Bounds = own_bounds) -> Expr:
        """1 where e == 0, else 0."""
        range_ = e.bounds(known)
        if range_.lo > 0 or range_.hi < 0:
            return ZERO
        if range_.constant == 0:
            return ONE
        content = (e - e.offset).content()
        if content and e.offset % content:
            return ZERO
        return Expr.symbol(self.derived("zero", "({0} == 0)", (e,), Interval(0, 1))[0])

    def both(self, a: Expr, b: Expr) -> Expr:
        """1 where the conditions a and b are 1, else 0."""
        if a == ZERO or b == ONE or a == b:
            return a
        if b == ZERO or a == ONE:
            return b
        return Expr.symbol(self.derived("and", "({0} and {1})", (a, b), Interval(0, 1))[0])

    def either(self, a: Expr, b: Expr) -> Expr:
        """1 where the condition a or b is 1, else 0."""
        return ONE - self.both(ONE - a, ONE - b)


def assumed(condition: Expr, truth: bool = True) -> list[Expr]:
    """Expressions that are never negative where the condition is `truth`. May say less than the condition."""
    negated = _negated(condition)
    if negated is not None:
        return assumed(negated, not truth)
    symbol = _single(condition)
    if symbol is None:
        return []
    match symbol.kind, truth:
        case "nonneg", True:
            return [symbol.args[0]]
        case "nonneg", False:
            return [-symbol.args[0] - 1]
        case "zero", True:
            return [symbol.args[0], -symbol.args[0]]
        case "zero", False:
            # e != 0 says something linear only where the sign of e is known.
            e = symbol.args[0]
            range_ = e.bounds()
            return [e - 1] if range_.lo >= 0 else [-e - 1] if range_.hi <= 0 else []
        case "and", True:
            return [f for arg in symbol.args for f in assumed(arg)]
        case "select", True:
            # c ? a : 0 and c ? 1 : a, which short-circuit evaluation makes.
            test, a, b = symbol.args
            return assumed(test) + assumed(a) if b == ZERO else assumed(ONE - test) + assumed(b) if a == ZERO else []
        case "select", False:
            test, a, b = symbol.args
            if a == ONE:
                return assumed(test, False) + assumed(b, False)
            return assumed(test) + assumed(a, False) if b == ONE else []
        case _:
            return []


def tightened(e: Expr) -> Expr:
    """The expression of least size that is >= 0 for the same integers as e."""
    content = (e - e.offset).content()
    return e.split(content)[0] if content > 1 else e


def _single(condition: Expr) -> Symbol | None:
    if len(condition.terms) == 1:
        ((monomial, factor),) = condition.terms.items()
        if factor == 1 and len(monomial) == 1:
            return monomial[0]
    return None


def _negated(condition: Expr) -> Expr | None:
    """c where the condition is written 1 - c."""
    if len(condition.terms) == 2 and condition.offset == 1:
        rest = ONE - condition
        return rest if _single(rest) is not None else None
    return None


def _exact(e: Expr, divisor: int) -> Expr:
    return e if divisor == 1 else Expr({m: c // divisor for m, c in e.terms.items()})


def _take_multiples(a: Expr, d: Expr) -> tuple[Expr, Expr]:
    """q and r with a = d*q + r, where q takes what the one term of d divides."""
    if len(d.terms) != 1:
        whole = _ratio(a, d)
        return (ZERO, a) if whole is None else (Expr.constant(whole), ZERO)
    ((divisor, factor),) = d.terms.items()
    taken: dict[Monomial, int] = {}
    left: dict[Monomial, int] = {}
    for monomial, size in a.terms.items():
        rest = _without(monomial, divisor)
        if rest is None or size % factor:
            left[monomial] = size
        else:
            taken[rest] = size // factor
    return Expr(taken), Expr(left)


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    rest = list(monomial)
    for symbol in divisor:
        if symbol not in rest:
            return None
        rest.remove(symbol)
    return tuple(rest)


def _ratio(a: Expr, d: Expr) -> int | None:
    """k where a = k * d."""
    monomial, factor = next(iter(d.terms.items()))
    k, left = divmod(a.terms.get(monomial, 0), factor)
    return k if not left and a == d * k else None


def _order(e: Expr) -> tuple[int, list[tuple[tuple[int, ...], int]]]:
    """Any total order will do: min(a, b) and min(b, a) are then one symbol."""
    return max((s.id for s in e.symbols()), default=0), sorted((tuple(s.id for s in m), c) for m, c in e.terms.items())
