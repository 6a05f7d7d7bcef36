"""From records to touches: one for each element (in shared memory: for each granule of it) and thread.

A granule is as many bytes as the smallest element of shared memory has; buffers of other types are several wide.
Elements of arrays are counted through all arrays of the launch, so that a touch has one number as its `key`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileopt.backends.cpu.check.effects import Kind
from tileopt.backends.cpu.check.sites import FIRST, Memory, Site, Trace
from tileopt.dialects.layout import WARP_SIZE, Layout

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """Records in the order in which they were written. `interval`: counts block beginnings and barriers that opened;
    `block`: its number; `epoch`: how often the thread has met its warp in the interval."""

    site: Ints
    thread: Ints
    words: Ints
    interval: Ints
    block: Ints
    epoch: Ints

    def part(self, which: Any) -> Rows:
        return Rows(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.site)


@dataclass(frozen=True)
class Touches:
    """Parallel arrays. `row`: the record; `key`: what is touched; `place`: the element in row-major order."""

    row: Ints
    key: Ints
    place: Ints

    def part(self, which: Any) -> Touches:
        return Touches(self.row[which], self.key[which], self.place[which])

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class _Table:
    """For each thread (or in one row for all), the coordinates of what it touches, and which of them there are."""

    coords: tuple[Ints, ...]  # one axis each, threads x registers
    there: Bools

    def __len__(self) -> int:
        return int(self.there.shape[1])


class Expander:
    """The touches of one launch. `extents`: of each array by its place among the arguments."""

    def __init__(self, trace: Trace, extents: dict[int, tuple[int, ...]], shared: int, shared_bytes: int) -> None:
        self.trace, self.extents, self.shared = trace, extents, shared
        sizes = [s.memory.size for s in trace.sites if s.memory is not None and s.memory.shared is not None]
        self.granule = min(sizes, default=1)
        self.granules = -(-shared_bytes // self.granule)
        self.starts: dict[int, int] = {}
        self.elements = 0
        for argument in sorted({s.memory.argument for s in trace.sites if s.memory and s.memory.argument is not None}):
            self.starts[argument] = self.elements
            self.elements += prod(extents[argument])
        self._tables: dict[int, _Table] = {}
        self._groups: dict[int, Ints] = {}
        in_shared = [s.memory is not None and s.memory.shared is not None for s in trace.sites]
        kinds = [s.kind for s in trace.sites]
        none = [False] * FIRST
        self._writes = np.array(none + [a and k != Kind.READ for a, k in zip(in_shared, kinds, strict=True)])
        tiles = [s.place.layout is not None and bool(s.place.layout.shape) for s in trace.sites]
        reads = [a and t and k == Kind.READ for a, t, k in zip(in_shared, tiles, kinds, strict=True)]
        self._tiles = np.array(none + reads)

    @cached_property
    def costs(self) -> Ints:
        """By the number of a site: how many touches a record stands for."""
        out = np.zeros(FIRST + len(self.trace.sites), np.int64)
        for number, site in enumerate(self.trace.sites, FIRST):
            if site.memory is not None:
                out[number] = len(self._table(number, site)) if _has_table(site) else site.place.run
        return out

    def repeated(self, rows: Rows) -> Bools:
        """Records that say what an earlier one said, where nothing writes to shared memory between two barriers: other
        threads that read the same elements of a tile. Whether those are initialised is all that is asked there."""
        out = np.zeros(len(rows), bool)
        written = np.zeros(int(rows.interval[-1] - rows.interval[0]) + 1, bool)
        written[rows.interval[self._writes[rows.site]] - rows.interval[0]] = True
        at = np.flatnonzero(self._tiles[rows.site] & ~written[rows.interval - rows.interval[0]])
        if not len(at):
            return out
        same = np.zeros(len(at), np.int64)  # threads with the same elements
        for number in np.unique(rows.site[at]).tolist():
            here = rows.site[at] == number
            same[here] = self._alike(number)[rows.thread[at[here]]]
        facts = np.stack([rows.interval[at], rows.site[at], rows.words[at, 0], same])
        order = np.lexsort((at, *facts[::-1]))
        again = (facts[:, order[1:]] == facts[:, order[:-1]]).all(0)
        out[at[order[1:][again]]] = True
        return out

    def _alike(self, number: int) -> Ints:
        """For each thread a number that threads with the same elements share."""
        if number not in self._groups:
            table = self._table(number, self.trace.site(number))
            held = np.concatenate([np.where(table.there, at, -1) for at in table.coords], 1)
            _, group = np.unique(held, axis=0, return_inverse=True)
            self._groups[number] = group.ravel()
        return self._groups[number]

    def touches(self, rows: Rows) -> tuple[Touches, Touches]:
        """Those of shared memory, and those of arrays."""
        small = len(self.trace.sites) + FIRST < 1 << 16  # NumPy sorts short integers by their digits
        order = np.argsort(rows.site.astype(np.uint16) if small else rows.site, kind="stable")
        if self._tiles.any():
            order = order[~self.repeated(rows)[order]]
        ends = np.searchsorted(rows.site[order], np.arange(FIRST, FIRST + len(self.trace.sites) + 1))
        shared: list[Touches] = []
        arrays: list[Touches] = []
        for number, site in enumerate(self.trace.sites, FIRST):
            chosen = order[ends[number - FIRST] : ends[number - FIRST + 1]]
            if site.memory is None or not len(chosen):
                continue
            chosen = _that_count(site, chosen, rows.thread[chosen])
            words, threads = rows.words[chosen], rows.thread[chosen]
            if site.memory.shared is not None:
                shared.append(self._in_buffer(number, site, chosen, words, threads))
            else:
                arrays.append(self._in_array(number, site, chosen, words, threads))
        return _joined(shared), _joined(arrays)

    def _in_buffer(self, number: int, site: Site, rows: Ints, words: Ints, threads: Ints) -> Touches:
        memory = site.memory
        assert memory is not None and memory.shared is not None
        begin, shape = words[:, 0] - self.shared, memory.shared.shape
        if not _has_table(site):
            coords: Sequence[Ints] = [words[:, 1 + axis] for axis in range(memory.rank)]
            offset = begin + self._offset(memory, coords, len(rows))
            place = _row_major(coords, shape, len(rows))
            if site.place.run > 1:
                along = np.arange(site.place.run)
                offset = (offset[:, None] + memory.size * along).ravel()
                place, rows = (place[:, None] + along).ravel(), rows.repeat(site.place.run)
        else:
            table = self._table(number, site)
            if site.place.layout is None:
                threads = np.zeros_like(threads)
            there = table.there[threads]
            all_offsets = self._offset(memory, table.coords, table.there.shape)
            all_places = _row_major(table.coords, shape, table.there.shape)
            offset = (begin[:, None] + all_offsets[threads])[there]
            place = all_places[threads][there]
            rows = np.broadcast_to(rows[:, None], there.shape)[there]
        key = offset // self.granule
        wide = memory.size // self.granule
        if wide > 1:
            key = (key[:, None] + np.arange(wide)).ravel()
            rows, place = rows.repeat(wide), place.repeat(wide)
        return Touches(rows, key, place)

    def _offset(self, memory: Memory, coords: Sequence[Ints], shape: Any) -> Ints:
        """Bytes from a buffer's begin."""
        assert memory.shared is not None
        if not coords:
            return np.zeros(shape, np.int64)
        return np.asarray(memory.shared.index(coords), np.int64) * memory.size  # type: ignore[arg-type]

    def _in_array(self, number: int, site: Site, rows: Ints, words: Ints, threads: Ints) -> Touches:
        memory = site.memory
        assert memory is not None and memory.argument is not None
        extents = self.extents[memory.argument]
        coords: list[Ints] = [words[:, axis] for axis in range(memory.rank)]
        if _has_table(site):
            table = self._table(number, site)
            if site.place.layout is None:
                threads = np.zeros_like(threads)
            there = table.there[threads]
            coords = [at[:, None] + c[threads] for at, c in zip(coords, table.coords, strict=True)]
            for at, extent in zip(coords, extents, strict=True):
                there = there & (at >= 0) & (at < extent)
            coords = [at[there] for at in coords]
            rows = np.broadcast_to(rows[:, None], there.shape)[there]
        place = _row_major(coords, extents, len(rows))
        return Touches(rows, place + self.starts[memory.argument], place)

    def _table(self, number: int, site: Site) -> _Table:
        if number not in self._tables:
            assert site.memory is not None
            if site.place.layout is None:
                assert site.place.whole is not None
                coords = tuple(axis.reshape(1, -1) for axis in np.indices(site.place.whole))
                self._tables[number] = _Table(coords, np.ones((1, prod(site.place.whole)), bool))
            elif site.place.axis is None:
                self._tables[number] = spread(site.place.layout, self.trace.threads, site.place.once)
            else:
                assert site.memory.shared is not None
                extents = site.memory.shared.shape
                self._tables[number] = lines(site.place.layout, self.trace.threads, site.place.axis, extents)
        return self._tables[number]

    def element(self, site: Site, place: int) -> str:
        """An element as the source writes it: `x[3, 4]`."""
        memory = site.memory
        assert memory is not None
        if memory.shared is None:
            assert memory.argument is not None
            extents = self.extents[memory.argument]
        else:
            extents = memory.shared.shape
        index: list[str] = []
        for extent in reversed(extents):
            index.insert(0, str(place % extent))
            place //= extent
        return f"{memory.name}[{', '.join(index)}]" if index else memory.name


def _has_table(site: Site) -> bool:
    return site.place.layout is not None or site.place.whole is not None


def _that_count(site: Site, rows: Ints, threads: Ints) -> Ints:
    """The records of the threads that stand for others."""
    place = site.place
    if place.every == 1 and place.lanes == WARP_SIZE:
        return rows
    chosen: Ints = rows[(threads % place.every == 0) & (threads % WARP_SIZE < place.lanes)]
    return chosen


def spread(layout: Layout, threads: int, once: bool) -> _Table:
    """What each thread's registers hold; with `once`, of replicas the first thread alone (see `coords.writer`)."""
    origins = np.array([layout.thread_coord(t % WARP_SIZE, t // WARP_SIZE) for t in range(threads)], np.int64)
    registers = np.array(layout.register_coords, np.int64)
    rank = len(layout.shape)
    origins, registers = origins.reshape(threads, rank), registers.reshape(layout.registers, rank)
    coords = tuple(origins[:, None, axis] + registers[None, :, axis] for axis in range(rank))
    there = np.ones((threads, layout.registers), bool)
    for at, extent in zip(coords, layout.shape, strict=True):
        there &= at < extent
    if once:
        replicas = layout.replica_lanes | layout.replica_warps << len(layout.lanes)
        beyond = layout.threads
        while beyond < threads:
            replicas |= beyond
            beyond *= 2
        there &= ((np.arange(threads) & replicas) == 0)[:, None]
    return _Table(coords, there)


def lines(layout: Layout, threads: int, axis: int, extents: tuple[int, ...]) -> _Table:
    """All elements of the rows (axis 0) or columns (axis 1) of which a thread holds a register."""
    places = np.array(sorted({at[axis] for at in layout.register_coords}), np.int64)
    origins = np.array([layout.thread_coord(t % WARP_SIZE, t // WARP_SIZE)[axis] for t in range(threads)], np.int64)
    held = np.minimum(origins[:, None] + places, extents[axis] - 1)  # phantoms read the last one again
    depth = extents[1 - axis]
    own = np.repeat(held, depth, 1)
    along = np.broadcast_to(np.tile(np.arange(depth), len(places)), own.shape)
    coords = (own, along) if axis == 0 else (along, own)
    return _Table(coords, np.ones(own.shape, bool))


def _row_major(coords: Sequence[Ints], extents: Sequence[int], shape: Any) -> Ints:
    total: Ints = np.zeros(shape, np.int64)
    for at, extent in zip(coords, extents, strict=True):
        total = total * extent + at
    return total


def _joined(parts: list[Touches]) -> Touches:
    if len(parts) == 1:
        return parts[0]
    empty = np.zeros(0, np.int64)
    if not parts:
        return Touches(empty, empty, empty)
    return Touches(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("row", "key", "place")))


READS = np.array([kind in (Kind.READ, Kind.UPDATE) for kind in Kind])
