"""Intervals of exact integers: what is known of a value's size."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """The integers lo, lo+1, ... hi. Never empty."""

    lo: int
    hi: int

    @staticmethod
    def of(value: int) -> Interval:
        return Interval(value, value)

    @staticmethod
    def signed(width: int) -> Interval:
        """Every value of a signless integer read as two's complement. A bool (width 1) is read as 0 or 1."""
        return Interval(0, 1) if width == 1 else Interval(-(1 << (width - 1)), (1 << (width - 1)) - 1)

    @property
    def constant(self) -> int | None:
        return self.lo if self.lo == self.hi else None

    def within(self, other: Interval) -> bool:
        return other.lo <= self.lo and self.hi <= other.hi

    def join(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))

    def meet(self, other: Interval) -> Interval:
        """What both hold. Two facts that contradict each other mean dead code: either one does there."""
        lo, hi = max(self.lo, other.lo), min(self.hi, other.hi)
        return Interval(lo, hi) if lo <= hi else self

    def plus(self, other: Interval) -> Interval:
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def minus(self, other: Interval) -> Interval:
        return Interval(self.lo - other.hi, self.hi - other.lo)

    def times(self, other: Interval) -> Interval:
        corners = (self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi)
        return Interval(min(corners), max(corners))

    def scaled(self, factor: int) -> Interval:
        a, b = self.lo * factor, self.hi * factor
        return Interval(a, b) if a <= b else Interval(b, a)

    def floor_div(self, divisor: Interval) -> Interval:
        """floor(a / d) for each a here and d in `divisor`; d = 0 gives 0."""
        quotients = [0] if divisor.lo <= 0 <= divisor.hi else []
        # The quotient is monotonic in d on each side of 0, so that only the corners count.
        for d in {divisor.lo, divisor.hi, -1, 1}:
            if d != 0 and divisor.lo <= d <= divisor.hi:
                quotients += [self.lo // d, self.hi // d]
        return Interval(min(quotients), max(quotients))

    def trunc_div(self, divisor: Interval) -> Interval:
        """As `floor_div`, rounded towards 0. Rounding is monotonic, so the corners decide here too."""
        quotients = [0] if divisor.lo <= 0 <= divisor.hi else []
        for d in {divisor.lo, divisor.hi, -1, 1}:
            if d != 0 and divisor.lo <= d <= divisor.hi:
                quotients += [trunc_div(self.lo, d), trunc_div(self.hi, d)]
        return Interval(min(quotients), max(quotients))

    def floor_mod(self, divisor: Interval) -> Interval:
        """a - d * floor(a / d): has the sign of d; d = 0 gives 0."""
        found: Interval | None = None
        if divisor.hi >= 1:
            fits = self.lo >= 0 and self.hi < max(divisor.lo, 1)
            top = min(divisor.hi - 1, self.hi) if self.lo >= 0 else divisor.hi - 1
            found = self if fits else Interval(0, top)
        if divisor.lo <= -1:
            bottom = max(divisor.lo + 1, self.lo) if self.hi <= 0 else divisor.lo + 1
            negative = Interval(bottom, 0)
            found = negative if found is None else found.join(negative)
        if divisor.lo <= 0 <= divisor.hi:
            found = Interval(0, 0) if found is None else found.join(Interval(0, 0))
        assert found is not None
        return found

    def trunc_mod(self, divisor: Interval) -> Interval:
        """a - d * trunc(a / d): has the sign of a; d = 0 gives 0."""
        most = max(abs(divisor.lo), abs(divisor.hi), 1) - 1
        return Interval(max(min(self.lo, 0), -most), min(max(self.hi, 0), most))

    def min(self, other: Interval) -> Interval:
        return Interval(min(self.lo, other.lo), min(self.hi, other.hi))

    def max(self, other: Interval) -> Interval:
        return Interval(max(self.lo, other.lo), max(self.hi, other.hi))


def trunc_div(a: int, b: int) -> int:
    """a / b rounded towards 0, in exact integers."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient
