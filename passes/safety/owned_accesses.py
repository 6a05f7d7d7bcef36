"""The proof that the owners of memory in one kernel keep out of each other's way: over all pairs of accesses."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from tileopt.passes.analysis.affine import ONE, Expr, Symbol, closure, leaves
from tileopt.passes.analysis.facts import KernelFacts
from tileopt.passes.analysis.launch_symbols import Sizes
from tileopt.passes.analysis.renaming import Renaming
from tileopt.passes.safety.disjoint import COMBINATIONS, UNIFORM, Equation, Meeting
from tileopt.passes.safety.families import Families
from tileopt.passes.safety.instance import Instance
from tileopt.passes.safety.owners import OwnedAccess, Owners


class OwnedAccesses:
    """Verifies all pairs of a store and another access to the same array."""

    def __init__(self, facts: KernelFacts, accesses: list[OwnedAccess], owners: Owners) -> None:
        self.facts = facts
        self.owners = owners
        self.stores = [a for a in accesses if a.stores]
        self.loads = [a for a in accesses if not a.stores]
        self.failed: tuple[OwnedAccess, OwnedAccess] | None = None  # the pair at which `verify` gave up

    def verify(self) -> list[str] | None:
        """One line of proof for each store, or None where there is none."""
        proofs = []
        families = Families([*self.stores, *self.loads], self.owners)
        for first, second in self._pairs():
            if first is not second and not self.owners.unsure and families.apart(first, second):
                continue
            together = first is second and self.owners.symbols and not self.owners.unsure
            proof = families.alone(first) if together else None
            proof = proof or self._prove(first, second)
            if proof is None:
                self.failed = (first, second)
                return None
            if first is second:
                proofs.append(f"{first.index}: {proof}")
        return proofs

    def divisors(self) -> Sizes:
        """The extents and arguments that the failed pair divides by: where one is 0, a quotient says nothing."""
        symbols = closure([e for access in self.failed or () for e in access.offsets])
        divisors = [s.args[1] for s in symbols if s.kind in ("floordiv", "mod", "tdiv", "tmod")]
        return self.facts.sizes(leaves(divisors))

    def unsettled(self) -> list[Symbol]:
        """The owners' symbols that the failed pair leaves open."""
        assert self.failed is not None
        first, second = self.failed
        there = first.instance if first is second else self._renamed(first, second)
        return self._left(self._meeting(first, second, there, hard=False))

    def _pairs(self) -> Iterator[tuple[OwnedAccess, OwnedAccess]]:
        for i, store in enumerate(self.stores):
            yield store, store
            yield from ((other, store) for other in self.stores[:i] if other.view is store.view)
        yield from ((store, load) for load in self.loads for store in self.stores if load.view is store.view)

    def _prove(self, first: OwnedAccess, second: OwnedAccess) -> str | None:
        """How it was proved that only one owner can be at both."""
        if first.instance.impossible or second.instance.impossible:
            return "never runs inside the array"
        if self.owners.unsure:
            return None
        if not self.owners.symbols:
            return "a grid of one block"
        there = first.instance if first is second else self._renamed(first, second)
        meeting = self._meeting(first, second, there, hard=False)
        if self._left(meeting):
            first.instance.unlock()
            there.unlock()
            meeting = self._meeting(first, second, there, hard=True)
        if self._left(meeting):
            return None
        return meeting.proof(self.owners.noun)

    def _left(self, meeting: Meeting) -> list[Symbol]:
        return [s for s in self.owners.symbols if not meeting.settles(s)]

    def _renamed(self, first: OwnedAccess, second: OwnedAccess) -> Instance:
        """A run of `second`, with the symbols of loops that are equal to those around `first` called the same."""
        renaming = Renaming(self.facts.symbols, _matching_loops(self.facts, first, second))
        known, offsets = map(renaming.expr, second.known), map(renaming.expr, second.offsets)
        return Instance(known, offsets, renaming.bounds(second.scope.bounds))

    def _meeting(self, first: OwnedAccess, second: OwnedAccess, there: Instance, hard: bool) -> Meeting:
        here = first.instance
        equations = []
        for axis, (f, g) in enumerate(zip(here.roots, there.roots, strict=True)):
            low, high = 1 - first.extents[axis], second.extents[axis] - 1
            if here is not there:
                f = _aligned(f, g, here)
                shift = g - f
                if all(s.kind in UNIFORM for s in shift.symbols()):
                    equations.append(Equation(f if f.terms else ONE, low, high, f"axis {axis}", shift))
                    continue
                # What is not common to both is only known by its range.
                common = Expr({m: c for m, c in f.terms.items() if m and g.terms.get(m) == c})
                apart = (g - common).bounds(there.bounds).minus((f - common).bounds(here.bounds))
                f, low, high = common if common.terms else ONE, low + apart.lo, high + apart.hi
            equations.append(Equation(f, low, high, f"axis {axis}"))
        return Meeting(here, there, equations, COMBINATIONS if hard else 0)


def _aligned(f: Expr, g: Expr, here: Instance) -> Expr:
    """f in the terms of g where a condition of f's run says that they are the same but for a constant."""
    for zero in here.equalities():
        for other in (f + zero, f - zero):
            if (other - g).value is not None:
                return other
    return f


def _matching_loops(facts: KernelFacts, first: OwnedAccess, second: OwnedAccess) -> dict[Symbol, Symbol]:
    """The symbols of loops around `second` alone, and those of equal loops around `first` alone."""
    pairs: dict[Symbol, Symbol] = {}
    mine = [loop for loop in first.loops if loop not in second.loops]
    other = [loop for loop in second.loops if loop not in first.loops]
    for a, b in zip(mine, other, strict=False):
        renaming = Renaming(facts.symbols, pairs)
        ends = [(facts.of(x).expr, renaming.expr(facts.of(y).expr)) for x, y in zip(_ends(a), _ends(b), strict=True)]
        if any(x != y for x, y in ends):
            break
        pairs |= dict(zip(facts.loops.get(b, ()), facts.loops.get(a, ()), strict=False))
    return pairs


def _ends(loop: scf.ForOp) -> tuple[SSAValue, ...]:
    return loop.lb, loop.ub, loop.step
