"""Accesses whose offsets differ by what all owners share, as unrolled loops make them: proofs about all pairs at once.

Of a family of n accesses each pair differs by a constant, say, along each axis, and there are few such differences.
What is known of every member is known of the family: for each expression the weakest fact that they all have. With it a
supposed meeting of two members rests on their difference alone, so each difference is looked at once. What is not
proved so may still be proved from what is known of the two themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from xdsl.ir import SSAValue

from tileopt.passes.analysis.affine import ONE, ZERO, Expr, Symbol
from tileopt.passes.analysis.ranges import Interval
from tileopt.passes.safety.disjoint import COMBINATIONS, UNIFORM, Equation, Meeting
from tileopt.passes.safety.instance import Instance
from tileopt.passes.safety.owners import OwnedAccess, Owners

MEMBERS_MIN = 3  # two make one pair, which is looked at as it is

_Key = tuple[SSAValue, tuple[int, ...], tuple[Expr, ...]]


class Families:
    """The families of a kernel's accesses, whose owners must be told apart."""

    def __init__(self, accesses: Iterable[OwnedAccess], owners: Owners) -> None:
        members: dict[_Key, list[OwnedAccess]] = {}
        for access in accesses:
            key = (access.view, tuple(access.extents), tuple(map(_own, access.offsets)))
            members.setdefault(key, []).append(access)
        self._of: dict[OwnedAccess, _Family] = {}
        for (_, extents, bases), found in members.items():
            if len(found) >= MEMBERS_MIN:
                family = _Family(found, extents, bases, owners)
                self._of.update(dict.fromkeys(found, family))

    def apart(self, first: OwnedAccess, second: OwnedAccess) -> bool:
        """Whether it was proved that no two owners meet at the two accesses."""
        family = self._of.get(first)
        if family is None or self._of.get(second) is not family:
            return False
        return family.proves(tuple(g - f for f, g in zip(first.offsets, second.offsets, strict=True)))

    def alone(self, access: OwnedAccess) -> str | None:
        """How it was proved that no two owners meet at the access itself; None where it was not."""
        family = self._of.get(access)
        return None if family is None else family.alone


class _Family:
    def __init__(
        self, members: list[OwnedAccess], extents: tuple[int, ...], bases: tuple[Expr, ...], owners: Owners
    ) -> None:
        self._members = members
        self._extents = extents
        self._bases = bases
        self._owners = set(owners.symbols)
        self._noun = owners.noun
        self._by_axis: dict[tuple[int, Expr], set[Symbol] | None] = {}
        self._proved: dict[tuple[Expr, ...], bool] = {}

    @cached_property
    def _instance(self) -> Instance:
        return Instance(common(a.known for a in self._members), self._bases, self._bounds())

    def _bounds(self) -> _Bounds:
        return _Bounds(self._members)

    @cached_property
    def alone(self) -> str | None:
        """How it was proved that no two owners come to one member."""
        equations = [self._equation(axis, ZERO) for axis in range(len(self._bases))]
        for combinations in (0, COMBINATIONS):
            if combinations:
                self._instance.unlock()
            meeting = Meeting(self._instance, self._instance, equations, combinations)
            if all(meeting.settles(s) for s in self._owners):
                return meeting.proof(self._noun)
        return None

    def proves(self, differences: tuple[Expr, ...]) -> bool:
        """Whether members that differ so can be proved apart."""
        if differences not in self._proved:
            self._proved[differences] = self._proves(differences)
        return self._proved[differences]

    def _proves(self, differences: tuple[Expr, ...]) -> bool:
        settled: set[Symbol] = set()
        for axis, difference in enumerate(differences):
            found = self._settled(axis, difference)
            if found is None:
                return True
            settled |= found
        if self._owners <= settled:
            return True
        self._instance.unlock()
        equations = [self._equation(axis, difference) for axis, difference in enumerate(differences)]
        meeting = Meeting(self._instance, self._instance, equations, COMBINATIONS)
        return all(meeting.settles(s) for s in self._owners)

    def _settled(self, axis: int, difference: Expr) -> set[Symbol] | None:
        """What one axis alone settles; None where two accesses with this difference cannot meet."""
        key = axis, difference
        if key not in self._by_axis:
            meeting = Meeting(self._instance, self._instance, [self._equation(axis, difference)], 0)
            self._by_axis[key] = None if meeting.apart else meeting.settled & self._owners
        return self._by_axis[key]

    def _equation(self, axis: int, difference: Expr) -> Equation:
        base, reach = self._bases[axis], self._extents[axis] - 1
        return Equation(base if base.terms else ONE, -reach, reach, f"axis {axis}", difference)


def _own(offset: Expr) -> Expr:
    """The terms that may differ between owners."""
    return Expr({m: c for m, c in offset.terms.items() if any(s.kind not in UNIFORM for s in m)})


class _Bounds:
    """An interval of a symbol that holds at every member."""

    def __init__(self, members: list[OwnedAccess]) -> None:
        self._scopes = list({id(a.scope): a.scope for a in members}.values())
        self._found: dict[Symbol, Interval] = {}

    def __call__(self, symbol: Symbol) -> Interval:
        if symbol not in self._found:
            first, *rest = (scope.bounds(symbol) for scope in self._scopes)
            for other in rest:
                first = first.join(other)
            self._found[symbol] = first
        return self._found[symbol]


def common(groups: Iterable[list[Expr]]) -> list[Expr]:
    """What follows from each group of expressions that are never negative: of those that differ by a constant only
    and stand in all groups, the greatest of the least."""
    result: dict[Expr, int] | None = None
    for group in groups:
        least: dict[Expr, int] = {}
        for fact in group:
            terms = fact - fact.offset
            least[terms] = min(fact.offset, least.get(terms, fact.offset))
        if result is None:
            result = least
        else:
            result = {t: max(k, least[t]) for t, k in result.items() if t in least}
    return [terms + offset for terms, offset in (result or {}).items() if terms.terms]
