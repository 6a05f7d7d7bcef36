"""The symbols of one kernel, and the operations whose results are no polynomials.

Equal operations on equal operands give the same symbol, so that `x // 8` computed twice is one quantity. What is
written on a symbol (bounds, relations) holds wherever the symbol is used; what holds only behind a condition is
given as `known` and serves to simplify, but is never written down.

Division by zero, which frontends keep out, is taken to give x // 0 = 0 and x % 0 = x, so that x = d*(x // d) + x % d
holds for every d.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from tileopt.passes.analysis.affine import ONE, ZERO, Bounds, Expr, Monomial, Symbol, own_bounds
from tileopt.passes.analysis.conditions import alternatives, negated, single
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
            _relate((q, r), relations)
            if below.lo < 1 <= below.hi:
                _guard((q, r), (d - 1,), (rest, d - rest - 1))
            if below.lo <= -1:
                _guard((q, r), (-d - 1,), (-rest, rest - d - 1))
        return quotient, rest

    def truncate(self, a: Expr, d: Expr, known: Bounds = own_bounds) -> tuple[Expr, Expr]:
        """a / d rounded towards 0 and the remainder, which has the sign of a."""
        above, below = a.bounds(known), d.bounds(known)
        if above.lo >= 0 and below.lo >= 0:
            return self.divide(a, d, known)
        size = d.value
        if size and a.content() % size == 0:
            return a.split(size)
        q, new = self.derived("tdiv", "trunc({0} / {1})", (a, d), a.bounds().trunc_div(d.bounds()))
        r, _ = self.derived("tmod", "rem({0}, {1})", (a, d), a.bounds().trunc_mod(d.bounds()))
        quotient, rest = Expr.symbol(q), Expr.symbol(r)
        if new:
            whole = a - d * quotient - rest
            _relate((q, r), [whole, -whole])
            for sign_a in (a, -a):
                for sign_d in (d, -d):
                    end = rest if sign_a == a else -rest
                    _guard((q, r), (sign_a, sign_d - 1), (end, sign_d - end - 1))
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
            _guard((m,), (b - a,), (least - a,))
            _guard((m,), (a - b,), (least - b,))
        return least * common

    def maximum(self, a: Expr, b: Expr, known: Bounds = own_bounds) -> Expr:
        return -self.minimum(-a, -b, known)

    def select(self, condition: Expr, a: Expr, b: Expr, known: Bounds = own_bounds) -> Expr:
        """a where the condition (0 or 1) is 1, else b."""
        if a == b or condition == ONE:
            return a
        if condition == ZERO:
            return b
        negation = negated(condition)
        if negation is not None:
            return self.select(negation, b, a, known)
        # nonneg(b - a - k) chooses between a and b: for k in 0..1 that is their minimum, and so on.
        test = single(condition)
        if test is not None and test.kind == "nonneg":
            for shift in (0, 1):
                if test.args[0] == b - a - shift:
                    return self.minimum(a, b, known)
                if test.args[0] == a - b - shift:
                    return self.maximum(a, b, known)
        if test is not None and test.kind == "zero" and a == ONE and b in (test.args[0], -test.args[0]):
            # 1 in place of 0: how a divisor is kept from being 0.
            if b.bounds(known).lo >= 0:
                return self.maximum(a, b, known)
        rounded = self._floor_pattern(condition, a, b, known)
        if rounded is not None:
            return rounded
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
            for value, truth in ((a, True), (b, False)):
                for guard in alternatives(condition, truth) or ():
                    _guard((s,), guard, (chosen - value, value - chosen))
        return chosen * common

    def _floor_pattern(self, condition: Expr, a: Expr, b: Expr, known: Bounds) -> Expr | None:
        """The floor of a quotient, or its remainder, where they are made of the truncated ones: r + d or q - 1 where
        the remainder r is not 0 and its sign is not that of d."""
        rest = single(b)
        if rest is not None and rest.kind == "tdiv" and a == b - 1:
            wants, found = 0, self._made.get(("tmod", rest.args))
        elif rest is not None and rest.kind == "tmod" and a == b + rest.args[1]:
            wants, found = 1, rest
        else:
            return None
        if found is None:
            return None
        dividend, divisor = found.args
        remainder = Expr.symbol(found)
        below = divisor.bounds(known)
        negative = self.nonneg(-remainder - 1, known)
        positive = self.nonneg(remainder - 1, known)
        differs = self._made.get(("xor", (remainder, divisor)))
        tests = [negative] if below.lo >= 1 else [positive] if below.hi < 0 else []
        if differs is not None:
            opposite = self.nonneg(-Expr.symbol(differs) - 1)
            uneven = ONE - self.zero(remainder, known)
            tests += [self.both(opposite, uneven), self.both(uneven, opposite)]
        return self.divide(dividend, divisor, known)[wants] if condition in tests else None

    def xor(self, a: Expr, b: Expr, bounds: Interval) -> Expr:
        """a ^ b on two's complement."""
        x, new = self.derived("xor", "({0} ^ {1})", (a, b), bounds)
        if new:
            value = Expr.symbol(x)
            for one in (a, -a - 1):
                for other in (b, -b - 1):
                    same = (one == a) == (other == b)
                    _guard((x,), (one, other), (value if same else -value - 1,))
        return Expr.symbol(x)

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


def _relate(symbols: tuple[Symbol, ...], relations: list[Expr]) -> None:
    for symbol in symbols:
        symbol.relations += relations


def _guard(symbols: tuple[Symbol, ...], guard: tuple[Expr, ...], relations: tuple[Expr, ...]) -> None:
    for symbol in symbols:
        symbol.guarded.append((guard, relations))


def tightened(e: Expr) -> Expr:
    """The expression of least size that is >= 0 for the same integers as e."""
    content = (e - e.offset).content()
    return e.split(content)[0] if content > 1 else e


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
