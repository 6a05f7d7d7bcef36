"""Races within a block: two threads at one granule in one interval between barriers, of which one at least writes.

Atomics do not race with each other. The lanes of a warp are ordered by the times that the warp has met, or threads by
clocks (see there) in kernels that need those. Threads that all store one and the same value by one op do not race.

First a hash table that keeps the last writer of each slot tells which granules may have a race at all: in right
programs hardly any. Then all pairs of what touched those granules are compared.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tileopt.backends.cpu.check.effects import Kind
from tileopt.backends.cpu.check.expand import Bools, Ints, Rows, Touches
from tileopt.dialects.layout import WARP_SIZE

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio (Knuth's multiplicative hashing)
_THREAD_BITS = 11  # threads of a block, and copies


Ordered = Callable[[Ints, Ints], Bools]  # whether the first records' threads order them before the second records


def by_warps(rows: Rows) -> Ordered:
    """The order of lanes whose warp has met between."""

    def ordered(a: Ints, b: Ints) -> Bools:
        same = rows.thread[a] // WARP_SIZE == rows.thread[b] // WARP_SIZE
        found: Bools = same & (rows.epoch[a] != rows.epoch[b])
        return found

    return ordered


def first_race(
    rows: Rows, touches: Touches, keys: int, kinds: Ints, harmless: Bools, ordered: Ordered
) -> tuple[int, int] | None:
    """The touches of the race whose later access came first, the earlier access first. `keys`: as many there may be.

    `kinds`, `harmless`: by the number of a site.
    """
    if not len(touches):
        return None
    names = np.flatnonzero(_where_written(rows, touches, kinds)[touches.row])
    if not len(names):
        return None
    touches = touches.part(names)
    cell = (rows.interval[touches.row] - rows.interval[0]) * keys + touches.key
    kind = kinds[rows.site[touches.row]]
    chosen = np.flatnonzero(_may_race(cell, rows.thread[touches.row], kind))
    if not len(chosen):
        return None
    return _first_pair(rows, touches.part(chosen), cell[chosen], kind[chosen], harmless, names[chosen], ordered)


def _where_written(rows: Rows, touches: Touches, kinds: Ints) -> Bools:
    """By the record: whether its interval has one among the touches' that writes. Most only read what others wrote."""
    writes = np.zeros(len(rows), bool)
    writes[touches.row] = True
    writes &= kinds[rows.site] != Kind.READ
    written = np.zeros(int(rows.interval[-1] - rows.interval[0]) + 1, bool)
    written[rows.interval[writes] - rows.interval[0]] = True
    found: Bools = written[rows.interval - rows.interval[0]]
    return found


def _may_race(cell: Ints, thread: Ints, kind: Ints) -> Bools:
    """Whether a touch's cell may have a race; rarely, that of another cell in its slot."""
    bits = max(8, (2 * len(cell)).bit_length())
    slot = ((cell.astype(np.uint64) * _MULTIPLIER) >> np.uint64(64 - bits)).astype(np.int64)
    who = (cell << _THREAD_BITS) | thread
    suspect = np.zeros(1 << bits, bool)
    writes = kind == Kind.WRITE
    if writes.any():
        table = np.full(1 << bits, -1, np.int64)
        table[slot[writes]] = who[writes]
        seen = table[slot]
        suspect[slot[(seen != -1) & (seen != who)]] = True
    reads, updates = kind == Kind.READ, kind > Kind.WRITE
    if updates.any() and reads.any():
        table = np.full(1 << bits, -1, np.int64)
        table[slot[updates]] = who[updates]
        several = np.zeros(1 << bits, bool)
        several[slot[updates][table[slot[updates]] != who[updates]]] = True
        at, seen = slot[reads], table[slot[reads]]
        suspect[at[(seen != -1) & ((seen != who[reads]) | several[at])]] = True
    return suspect[slot]


def _first_pair(
    rows: Rows, touches: Touches, cell: Ints, kind: Ints, harmless: Bools, names: Ints, ordered: Ordered
) -> tuple[int, int] | None:
    """All pairs within a cell, by their distance in the order of the cell and of time."""
    order = np.lexsort((touches.row, cell))
    cell, kind, row, names = cell[order], kind[order], touches.row[order], names[order]
    thread, site = rows.thread[row], rows.site[row]
    plain, written = kind <= Kind.WRITE, kind != Kind.READ
    best: tuple[int, int] | None = None
    earliest = len(rows)
    distance = 1
    here = np.arange(len(cell) - 1)
    while len(here):
        there = here + distance
        same = cell[here] == cell[there]
        here, there = here[same], there[same]
        conflict = (thread[here] != thread[there]) & (written[here] | written[there]) & (plain[here] | plain[there])
        conflict &= ~((site[here] == site[there]) & harmless[site[here]])
        found = np.flatnonzero(conflict)
        found = found[~ordered(row[here[found]], row[there[found]])]
        if len(found):
            at = found[np.argmin(row[there[found]])]
            if row[there[at]] < earliest:
                earliest = int(row[there[at]])
                best = int(names[here[at]]), int(names[there[at]])
        distance += 1
        here = here[here + distance < len(cell)]
    return best
