"""Looks for two owners that touch one element, on small grids and arrays: the example that makes an error plain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from tileopt.passes.analysis.affine import Expr, Symbol, closure, leaves
from tileopt.passes.analysis.evaluate import Unknown, evaluate_all
from tileopt.passes.analysis.facts import KernelFacts

if TYPE_CHECKING:
    from tileopt.passes.safety.owners import OwnedAccess, Owners

RUNS_MAX = 400  # runs of an access that are looked at
UNIFORM_MAX = 24  # choices of arguments, extents and grids
GRID = (16, 4, 3)  # extent of the grid along each axis, by how many axes are used
TRIPS = 6  # iterations of a loop


@dataclass(frozen=True)
class Collision:
    """Two owners, as "block 3" or "thread 1 of block 0", and the part of the array that both touch, as [0..63, 4].
    `given`: what was chosen of what a launch may choose, as "n = 2"; empty where they meet in any launch."""

    first: str
    second: str
    tile: str
    given: str = ""

    @property
    def both(self) -> str:
        """The owners together: "blocks 0 and 1"."""
        if " of " in self.first:
            return f"{self.first} and {self.second}"
        return f"{self.first.replace(' ', 's ', 1)} and {self.second.split(' ', 1)[1]}"

    @property
    def where(self) -> str:
        """ " where n = 2", to follow what is said of the owners."""
        return f" where {self.given}" if self.given else ""


def collide(facts: KernelFacts, a: OwnedAccess, b: OwnedAccess, owners: Owners) -> Collision | None:
    """Two owners of which one at `a` and one at `b` touch a common element, if a small case shows it."""
    dims = [facts.dim(a.view, axis) for axis in range(len(a.extents))]
    leaves = [s for s in _all_symbols([*a.known, *b.known, *a.offsets, *b.offsets, *dims]) if not s.args]
    uniform = [s for s in leaves if s.kind in ("argument", "dim", "num_blocks", "block_dim")]
    bids = [*owners.bids, *(s for s in leaves if s.kind == "bid" and s not in owners.bids)]
    ids = [*bids, *owners.threads]
    widest = GRID[min(len(ids), len(GRID)) - 1]
    try:
        for values in _choices(uniform, max(*a.extents, *b.extents, 1), widest):
            grid = [_extent(facts, bid, values, widest) for bid in bids]
            grid += [min(widest, thread.bounds.hi + 1) for thread in owners.threads]
            found = _search(a, b, ids, grid, values, dims)
            if found is not None:
                first, second, tile = found
                named = _named(first, len(bids), owners), _named(second, len(bids), owners)
                return Collision(*named, tile, _given(values, [*a.offsets, *b.offsets]))
    except Unknown:
        return None
    return None


def _named(ids: tuple[int, ...], blocks: int, owners: Owners) -> str:
    block = f"block {_tuple(ids[:blocks] or (0,))}"
    return f"thread {_tuple(ids[blocks:])} of {block}" if owners.of_threads else block


def _given(values: dict[Symbol, int], offsets: Sequence[Expr]) -> str:
    """The values of what a launch chooses and the offsets rest on."""
    chosen = sorted((s for s in leaves(offsets) if s in values), key=lambda s: s.id)
    return " and ".join(f"{s.name} = {values[s]}" for s in chosen)


def _all_symbols(exprs: Sequence[Expr]) -> list[Symbol]:
    found = closure(exprs)
    while more := closure(r for s in found for r in s.relations) - found:
        found |= more
    return sorted(found, key=lambda s: s.id)


def _choices(uniform: list[Symbol], extent: int, widest: int) -> Iterator[dict[Symbol, int]]:
    """Small values for what has one value in a launch, generous arrays first."""

    def options(symbol: Symbol) -> list[int]:
        if symbol.kind == "num_blocks":
            return [widest, 2]
        wanted = [64 * extent, 4 * extent, 1] if symbol.kind == "dim" else [2, 1, 4, 0]
        return [v for v in wanted if symbol.bounds.lo <= v <= symbol.bounds.hi] or [symbol.bounds.lo]

    for count, values in enumerate(product(*(options(s) for s in uniform))):
        if count >= UNIFORM_MAX:
            return
        yield dict(zip(uniform, values, strict=True))


def _extent(facts: KernelFacts, bid: Symbol, values: dict[Symbol, int], widest: int) -> int:
    for axis, symbol in facts.used_bids().items():
        if symbol is bid:
            (grid,) = facts.num_blocks(axis).symbols()
            return values.get(grid, widest)
    return 1


def _search(
    a: OwnedAccess,
    b: OwnedAccess,
    bids: Sequence[Symbol],
    grid: list[int],
    values: dict[Symbol, int],
    dims: list[Expr],
) -> tuple[tuple[int, ...], tuple[int, ...], str] | None:
    ends = evaluate_all(dims, values)
    here = list(_runs(a, bids, grid, values))
    there = here if a is b else list(_runs(b, bids, grid, values))
    for (first, start), (second, other) in product(here, there):
        if first == second:
            continue
        low = [max(x, y, 0) for x, y in zip(start, other, strict=True)]
        high = [
            min(x + ea, y + eb, end) - 1
            for x, y, ea, eb, end in zip(start, other, a.extents, b.extents, ends, strict=True)
        ]
        if all(lo <= hi for lo, hi in zip(low, high, strict=True)):
            tile = ", ".join(str(lo) if lo == hi else f"{lo}..{hi}" for lo, hi in zip(low, high, strict=True))
            return first, second, f"[{tile}]"
    return None


def _runs(
    access: OwnedAccess, bids: Sequence[Symbol], grid: list[int], values: dict[Symbol, int]
) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """The runs of an access: block ids and offsets, where all that is known of it holds."""
    symbols = _all_symbols([*access.known, *access.offsets])
    counters = [s for s in symbols if s.kind == "trip"]
    derived = [s for s in symbols if s.kind == "induction"]
    conditions = [*access.known, *(r for s in symbols if s.kind in ("trip", "bid") for r in s.relations)]
    count = 0
    for ids in product(*(range(n) for n in grid)):
        for trips in product(range(TRIPS if len(counters) == 1 else 3), repeat=len(counters)):
            count += 1
            if count > RUNS_MAX:
                return
            run = values | dict(zip(bids, ids, strict=True)) | dict(zip(counters, trips, strict=True))
            for symbol in derived:
                run[symbol] = _induction(symbol, run)
            if all(v >= 0 for v in evaluate_all(conditions, run)):
                yield ids, evaluate_all(access.offsets, run)


def _induction(symbol: Symbol, run: dict[Symbol, int]) -> int:
    """The value of an induction symbol: its first relation is value - first - step * count = 0."""
    tie = Expr.symbol(symbol) - symbol.relations[0]
    return evaluate_all([tie], run)[0]


def _tuple(ids: tuple[int, ...]) -> str:
    return str(ids[0]) if len(ids) == 1 else f"({', '.join(map(str, ids))})"
