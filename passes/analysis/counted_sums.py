"""What a loop that counts is made of: sums of its counter and of values made outside, and where they end."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue


@dataclass(frozen=True, slots=True)
class Sum:
    """`factor` times the counter, plus numbers made outside times constants, plus a constant."""

    factor: int = 0
    terms: tuple[tuple[SSAValue, int], ...] = ()
    const: int = 0

    def plus(self, other: Sum, sign: int = 1) -> Sum:
        terms = dict(self.terms)
        for value, times in other.terms:
            terms[value] = terms.get(value, 0) + sign * times
        kept = tuple((v, t) for v, t in terms.items() if t)
        return Sum(self.factor + sign * other.factor, kept, self.const + sign * other.const)

    def times(self, by: int) -> Sum:
        kept = tuple((v, t * by) for v, t in self.terms) if by else ()
        return Sum(self.factor * by, kept, self.const * by)

    @property
    def constant(self) -> int | None:
        return None if self.factor or self.terms else self.const


@dataclass(frozen=True, slots=True)
class Bound:
    """Iterations run while `factor` times the counter is below `limit`, a sum without the counter; `factor` is positive
    where the counter grows, negative where it falls."""

    factor: int
    limit: Sum


@dataclass(frozen=True, slots=True)
class End:
    """The quotient of a sum, which has no counter, and of a positive number, rounded up. No step of the sum wraps, nor
    does adding the divisor where it is `natural`, which says that the sum is not negative."""

    over: Sum
    divisor: int
    natural: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """A loop whose carried value number `counter` begins as `first` and goes on by `step`, a sum without the counter.

    Where it goes `up`, iterations run while it is below all `ends`. Where it goes down by a constant, `ends` are
    numbers of iterations, and as many run as the least of them says, none where that is negative.
    """

    counter: int
    first: SSAValue
    step: Sum
    up: bool
    ends: tuple[End, ...]
