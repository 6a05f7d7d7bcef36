"""The accesses of one kernel to its owned arrays, and the proof that blocks keep out of each other's way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tileopt.dialects import tile
from tileopt.dialects.diagnostics import OwnershipError, location_of
from tileopt.passes.analysis.accesses import Access, accesses, name_of, shape_of, view_of
from tileopt.passes.analysis.affine import ONE, Expr, Symbol, closure, leaves, shown
from tileopt.passes.analysis.facts import KernelFacts, Sizes
from tileopt.passes.analysis.renaming import Renaming
from tileopt.passes.safety.collisions import Collision, collide
from tileopt.passes.safety.disjoint import COMBINATIONS, Equation, Meeting
from tileopt.passes.safety.instance import Instance


class OwnedAccess:
    """One load or store of an owned array with its offsets as expressions."""

    def __init__(self, facts: KernelFacts, op: Access) -> None:
        self.op = op
        self.view, _ = view_of(op)
        self.name = name_of(facts, self.view)
        self.extents = shape_of(op)
        self.offsets = [facts.of(o).expr for o in op.offsets]
        self.scope = facts.scope(op)
        inside = []
        for axis, (offset, extent) in enumerate(zip(self.offsets, self.extents, strict=True)):
            inside += [facts.dim(self.view, axis) - offset - 1, offset + extent - 1]
        self.known = [*self.scope.known, *inside]
        self.instance = Instance(self.known, self.offsets, self.scope.bounds)
        self.loops = [loop for loop in _parents(op) if isinstance(loop, scf.ForOp)]

    @property
    def index(self) -> str:
        """The access as messages show it: out[64*bid(0), 0]."""
        offsets = [shown(offset, f"<offset {axis}>") for axis, offset in enumerate(self.offsets)]
        return f"{self.name}[{', '.join(offsets)}]"


class OwnedAccesses:
    """Verifies all pairs of a store and another access to the same array. `axes`: grid axes whose block id is used."""

    def __init__(self, facts: KernelFacts, kernel: tile.Kernel, axes: list[int]) -> None:
        self.facts = facts
        self.bids = [next(iter(facts.bid(a).symbols())) for a in axes]
        self.axes = axes
        found = [op for op in accesses(kernel) if view_of(op)[1].owned]
        written = {op.view for op in found if isinstance(op, tile.Store)}
        every = [OwnedAccess(facts, op) for op in found if op.view in written]
        self.stores = [a for a in every if isinstance(a.op, tile.Store)]
        self._failed: tuple[OwnedAccess, ...] = ()
        self.loads = [a for a in every if isinstance(a.op, tile.Load)]

    def verify(self) -> list[str] | None:
        """One line of proof for each store, or None where there is none."""
        proofs = []
        for first, second in self._pairs():
            proof = self._prove(first, second)
            if proof is None:
                self._failed = (first, second)
                return None
            if first is second:
                proofs.append(f"{first.index}: {proof}")
        return proofs

    def refuse(self) -> NoReturn:
        """Raises OwnershipError for the pair at which `verify` failed."""
        first, second = self._failed
        self._refuse(first, second, self._left(self._meeting(first, second, self._renamed(first, second), hard=False)))

    def divisors(self) -> Sizes:
        """The extents and arguments that the failed pair divides by: where one is 0, a quotient says nothing."""
        symbols = closure([e for access in self._failed for e in access.offsets])
        divisors = [s.args[1] for s in symbols if s.kind in ("floordiv", "mod", "tdiv", "tmod")]
        return self.facts.sizes(leaves(divisors))

    def _pairs(self) -> Iterator[tuple[OwnedAccess, OwnedAccess]]:
        for i, store in enumerate(self.stores):
            yield store, store
            yield from ((other, store) for other in self.stores[:i] if other.view is store.view)
        yield from ((store, load) for load in self.loads for store in self.stores if load.view is store.view)

    def _prove(self, first: OwnedAccess, second: OwnedAccess) -> str | None:
        """How it was proved that only one block can be at both."""
        if first.instance.impossible or second.instance.impossible:
            return "never runs inside the array"
        if not self.bids:
            return "a grid of one block"
        there = first.instance if first is second else self._renamed(first, second)
        meeting = self._meeting(first, second, there, hard=False)
        if self._left(meeting):
            first.instance.unlock()
            there.unlock()
            meeting = self._meeting(first, second, there, hard=True)
        if self._left(meeting):
            return None
        return "blocks never meet" if meeting.apart else "; ".join(meeting.steps) or "only one block comes here"

    def _left(self, meeting: Meeting) -> list[Symbol]:
        return [b for b in self.bids if not meeting.settles(b)]

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
                # What is not common to both is only known by its range.
                common = Expr({m: c for m, c in f.terms.items() if m and g.terms.get(m) == c})
                apart = (g - common).bounds(there.bounds).minus((f - common).bounds(here.bounds))
                f, low, high = common if common.terms else ONE, low + apart.lo, high + apart.hi
            equations.append(Equation(f, low, high, f"axis {axis}"))
        return Meeting(here, there, equations, COMBINATIONS if hard else 0)

    def _refuse(self, first: OwnedAccess, second: OwnedAccess, left: list[Symbol]) -> NoReturn:
        place = location_of(second.op)
        is_load = isinstance(second.op, tile.Load)
        notes = (
            []
            if first is second
            else [("the store is here" if is_load else "the other store is here", location_of(first.op))]
        )
        data = [s for s in leaves([*first.offsets, *second.offsets]) if s.kind == "data"]
        collision = None if data else collide(self.facts, first, second, self.bids)
        code, message, help = _describe(first, second, is_load, bool(data), collision, left, self.axes)
        raise OwnershipError(code, message, location=place, help=help, notes=notes)


def _describe(
    first: OwnedAccess,
    second: OwnedAccess,
    is_load: bool,
    data: bool,
    collision: Collision | None,
    left: list[Symbol],
    axes: list[int],
) -> tuple[str, str, str]:
    name, ids = second.name, " and ".join(str(s) for s in left)
    if data and not is_load:
        return (
            "ownership/data-dependent-store",
            f"where this stores to {name} depends on loaded data, so two blocks may write one element",
            f"make the offsets of a store from block ids, or declare {name} as tile.Atomic and use atomics",
        )
    if is_load:
        code = "ownership/foreign-read"
        cause = f"{second.index} may be what another block writes"
        if collision is not None:
            cause = f"block {collision.second} reads {name}{collision.tile}, which block {collision.first} writes"
        return code, cause, f"read {name} at the offsets that the block stores to, or pass what is read as tile.In"
    code = "ownership/overlapping-stores"
    if collision is not None:
        cause = f"blocks {collision.first} and {collision.second} both write {name}{collision.tile}"
    elif first is second:
        cause = f"cannot prove that two blocks never write one element of {name}: {second.index}"
    else:
        cause = f"cannot prove that two blocks never write one element of {name}: {first.index} and {second.index}"
    return code, cause, _help(first, second, left, axes, ids)


def _help(first: OwnedAccess, second: OwnedAccess, left: list[Symbol], axes: list[int], ids: str) -> str:
    offsets = [*first.offsets, *second.offsets]
    free = [s for s in left if s not in leaves(offsets)]
    if free:
        axis = axes[-1] if len(axes) == 1 else next(i for i in axes if f"bid({i})" == str(free[0]))
        return f"the offsets do not depend on {free[0]}: index the store by it, or do not use axis {axis} of the grid"
    for axis, offset in enumerate(first.offsets):
        step = next((abs(c) for m, c in offset.terms.items() if m == (left[0],)), None)
        if step is not None and step < first.extents[axis]:
            return (
                f"{left[0]} moves the tile by {step} along axis {axis}, where the tile has {first.extents[axis]}: "
                f"multiply it by {first.extents[axis]}"
            )
    return f"give each block a tile of its own: {ids} times the tile's extent, or // and % of it by one divisor"


def _parents(op: Operation) -> list[Operation]:
    """The ops around `op`, outermost first."""
    found: list[Operation] = []
    parent = op.parent_op()
    while parent is not None:
        found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


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
        pairs |= dict(zip(facts.loops.get(b, ()), facts.loops.get(a, ()), strict=True))
    return pairs


def _ends(loop: scf.ForOp) -> tuple[SSAValue, ...]:
    return loop.lb, loop.ub, loop.step
