"""`a if condition else b` as a symbol, and the idioms of frontends that are really a minimum, a floor or a quotient."""

from __future__ import annotations

from math import gcd

from tileopt.passes.analysis.affine import ONE, ZERO, Bounds, Expr, own_bounds
from tileopt.passes.analysis.conditions import alternatives, negated, single
from tileopt.passes.analysis.division import Division
from tileopt.passes.analysis.symbols import guard, unwrapped


class Symbols(Division):
    """The symbol table with everything that scalar code computes."""

    def select(self, condition: Expr, a: Expr, b: Expr, known: Bounds = own_bounds) -> Expr:
        """a where the condition (0 or 1) is 1, else b."""
        if a == b or condition == ONE:
            return a
        if condition == ZERO:
            return b
        negation = negated(condition)
        if negation is not None:
            return self.select(negation, b, a, known)
        for idiom in (self._extreme, self._floor_of_truncated, self._guarded_quotient):
            found = idiom(condition, a, b, known)
            if found is not None:
                return found
        common = max(1, gcd(a.content(), b.content()))
        a, b = a.exact_div(common), b.exact_div(common)
        s, new = self.derived("select", "({1} if {0} else {2})", (condition, a, b), a.bounds().join(b.bounds()))
        chosen = Expr.symbol(s)
        if new:
            difference = (a - b).bounds()
            if difference.lo >= 0:
                s.relations += [a - chosen, chosen - b]
            if difference.hi <= 0:
                s.relations += [b - chosen, chosen - a]
            for value, truth in ((a, True), (b, False)):
                for facts in alternatives(condition, truth) or ():
                    guard((s,), facts, (chosen - value, value - chosen))
        return chosen * common

    def _extreme(self, condition: Expr, a: Expr, b: Expr, known: Bounds) -> Expr | None:
        """`a if a < b else b`; and `1 if b == 0 else b`, how a divisor is kept from being 0."""
        test = single(condition)
        if test is None:
            return None
        if test.kind == "nonneg":
            content = max(1, (a - b - (a - b).offset).content())
            for shift in (0, 1):
                if test.args[0] == (b - a - shift).split(content)[0]:
                    return self.minimum(a, b, known)
                if test.args[0] == (a - b - shift).split(content)[0]:
                    return self.maximum(a, b, known)
        if test.kind == "zero" and a == ONE and b.bounds(known).lo >= 0 and condition == self.zero(b):
            return self.maximum(a, b, known)
        return None

    def _floor_of_truncated(self, condition: Expr, a: Expr, b: Expr, known: Bounds) -> Expr | None:
        """The truncated quotient less 1, or the remainder plus d, where the remainder's sign is not that of d."""
        rest = single(b)
        a = unwrapped(a, 64)  # where the condition holds, neither less 1 nor plus d wraps
        if rest is not None and rest.kind == "tdiv" and a == b - 1:
            wants, found = 0, self.find("tmod", rest.args)
        elif rest is not None and rest.kind == "tmod" and a == b + rest.args[1]:
            wants, found = 1, rest
        else:
            return None
        if found is None:
            return None
        dividend, divisor = found.args
        remainder = Expr.symbol(found)
        below = divisor.bounds(known)
        uneven = ONE - self.zero(remainder, known)
        tests = [self.nonneg(-remainder - 1, known)] if below.lo >= 1 else []
        tests += [self.nonneg(remainder - 1, known)] if below.hi < 0 else []
        bits = self.find("xor", (remainder, divisor))
        if bits is not None:
            tests.append(self.both(self.nonneg(-Expr.symbol(bits) - 1), uneven))
        return self.divide(dividend, divisor, known)[wants] if condition in tests else None

    def _guarded_quotient(self, condition: Expr, a: Expr, b: Expr, known: Bounds) -> Expr | None:
        """x // y written as 0 (or x * y) where y is 0 (or -1), and else x // d where d is y kept from that."""
        quotient = single(b)
        if quotient is None or quotient.kind != "floordiv":
            return None
        x, d = quotient.args
        y = self.kept_from_zero(d, known)
        if y is None:
            return None
        if condition == self.zero(y) and a == ZERO:
            return self.divide(x, y, known)[0]
        fits = x.bounds(known).lo > -(2**63)  # -x is then no less exact than x
        if condition == self.zero_or_minus_one(y) and unwrapped(a, 64) == x * y and fits:
            return self.divide(x, y, known)[0]
        return None
