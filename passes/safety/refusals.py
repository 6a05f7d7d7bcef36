"""What is said of a kernel whose owners may meet: the code, two of them that do, and the change that would help."""

from __future__ import annotations

from tileopt.dialects import simt, tile
from tileopt.dialects.diagnostics import Location, OwnershipError, location_of
from tileopt.passes.analysis.affine import Expr, Symbol, closure, leaves, shown
from tileopt.passes.analysis.symbols import exact
from tileopt.passes.safety.collisions import Collision, collide
from tileopt.passes.safety.meetings import meet
from tileopt.passes.safety.owned_accesses import OwnedAccesses
from tileopt.passes.safety.owners import OwnedAccess, Owners

# Kinds of symbols of which the analysis knows no more than their bounds.
LOST = ("carried", "unknown", "result")


def refusal(owned: OwnedAccesses) -> OwnershipError:
    """The error for the pair of accesses at which the proof failed."""
    assert owned.failed is not None
    first, second = owned.failed
    left = owned.unsettled() or owned.owners.symbols
    data = any(s.kind == "data" for s in leaves([*first.offsets, *second.offsets]))
    collision = None if data else collide(owned.facts, first, second, owned.owners)
    if collision is None and not data and owned.owners.of_threads:
        collision = meet(owned.facts.kernel, first.op, second.op, owned.owners.axes)
    code, message, help = _describe(first, second, data, collision, left, owned.owners)
    notes = [] if data else _notes(owned, left)
    if first is not second:
        notes.insert(0, ("the other store is here" if second.stores else "the store is here", location_of(first.op)))
    return OwnershipError(code, message, location=location_of(second.op), help=help, notes=notes)


def _notes(owned: OwnedAccesses, left: list[Symbol]) -> list[tuple[str, Location | None]]:
    """Where the ids are taken that leave two owners together, and what may not be exact."""
    assert owned.failed is not None
    first, second = owned.failed
    notes: list[tuple[str, Location | None]] = []
    stands = location_of(second.op)
    for op in owned.facts.kernel.walk():
        if isinstance(op, tile.Bid | simt.BlockId):
            symbol, place = owned.facts.of(op.result).expr, location_of(op)
            same = place is not None and stands is not None and place.line == stands.line
            if not same and any(symbol == Expr.symbol(s) for s in left):
                notes.append((f"{symbol} is taken here", place))
    wrapped = [s for s in closure([*first.offsets, *second.offsets]) if s.kind.startswith("wrap")]
    if wrapped:
        widest = max(wrapped, key=lambda s: s.id)
        text = shown(exact(widest.args[0]), "the offset")
        notes.append((f"{text} may leave the range of 64 bits, and then names another place", None))
    return notes


def _describe(
    first: OwnedAccess, second: OwnedAccess, data: bool, collision: Collision | None, left: list[Symbol], owners: Owners
) -> tuple[str, str, str]:
    name, noun = second.name, owners.noun
    if data and second.stores:
        atomic = "simt.Atomic" if owners.of_threads else "tile.Atomic"
        return (
            "ownership/data-dependent-store",
            f"where this stores to {name} depends on loaded data, so two {noun} may write one element",
            f"make the index of a store from ids alone, or declare {name} as {atomic} and use atomics",
        )
    if not second.stores:
        cause = f"{second.index} may be what another {noun[:-1]} writes"
        if collision is not None:
            cause = f"{collision.second} reads {name}{collision.tile}, which {collision.first} writes{collision.where}"
        return "ownership/foreign-read", cause, f"read {name} only where the same {noun[:-1]} stores to it"
    if collision is not None:
        cause = f"{collision.both} both write {name}{collision.tile}{collision.where}"
    elif first is second:
        cause = f"cannot prove that two {noun} never write one element of {name}: {second.index}"
    else:
        cause = f"cannot prove that two {noun} never write one element of {name}: {first.index} and {second.index}"
    return "ownership/overlapping-stores", cause, _help(first, second, left, owners)


def _help(first: OwnedAccess, second: OwnedAccess, left: list[Symbol], owners: Owners) -> str:
    offsets = [*first.offsets, *second.offsets]
    wraps = any(s.kind.startswith("wrap") for s in closure(offsets))
    arguments = sorted({s.source for s in leaves(offsets) if s.kind == "argument"}) if wraps else []
    names = " and ".join(arguments)
    if owners.of_threads and arguments:
        bounds = ", ".join(f'"{name} >= 0", "{name} <= 1000"' for name in arguments)
        return f"bound {names} in the contract, as requires=[{bounds}] does, or declare it as simt.Const[int]"
    if owners.of_threads:
        return "index the store by simt.thread_index(), or by what each thread alone has"
    lost = next((s for s in leaves(offsets) if s.kind in LOST), None)
    if lost is not None:
        return (
            f"the proof does not see through '{lost}': make the index of ids with + - * // % and min, and loop over "
            "several tiles with `for t in range(tile.bid(0), n, tile.num_blocks(0))`"
        )
    if arguments:
        return f"compute it from extents or tile.num_blocks() in place of {names}, or test the size of {names} before"
    free = [s for s in left if s not in leaves(offsets)]
    if free:
        axis = next(a for a, symbol in zip(owners.axes, owners.bids, strict=True) if symbol is free[0])
        return f"the offsets do not depend on {free[0]}: index the store by it, or do not use axis {axis} of the grid"
    for axis, offset in enumerate(first.offsets):
        step = next((abs(c) for m, c in offset.terms.items() if m == (left[0],)), None)
        if step is not None and step < first.extents[axis]:
            return (
                f"{left[0]} moves the tile by {step} along axis {axis}, where the tile has {first.extents[axis]}: "
                f"multiply it by {first.extents[axis]}"
            )
    ids = " and ".join(str(s) for s in left)
    return f"give each block a tile of its own: {ids} times the tile's extent, or // and % of it by one divisor"
