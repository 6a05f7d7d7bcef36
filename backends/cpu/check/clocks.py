"""The order that atomics, fences and meetings of warps make between the threads of a block, by vector clocks.

A thread's clock counts its releases; its vector has, for each thread, the clock up to which that thread's accesses are
before its own (Lamport; Mattern; the form is that of FastTrack, Flanagan and Freund 2009). Where a barrier opens all
begin anew: it orders everything. Only kernels with fences or atomics that are not relaxed need this.
"""

from __future__ import annotations

import numpy as np

from tileopt.backends.cpu.check.conflicts import Ordered
from tileopt.backends.cpu.check.effects import Kind, Meeting, Order
from tileopt.backends.cpu.check.expand import Bools, Ints, Rows, Touches
from tileopt.backends.cpu.check.sites import FIRST, Trace
from tileopt.dialects.layout import WARP_SIZE


def needs_clocks(trace: Trace) -> bool:
    return any(site.order for site in trace.sites)


class Clocks:
    """What orders records of one kernel. `granules`: keys of shared memory; those of arrays are counted on."""

    def __init__(self, trace: Trace, granules: int) -> None:
        self._threads, self._granules = trace.threads + trace.copies, granules
        self._things: list[int | None] = [None] * FIRST
        self._things += [site.thing for site in trace.sites]
        self._order = [Order.RELAXED] * FIRST + [site.order for site in trace.sites]
        self._warps = [False] * FIRST + [site.meeting == Meeting.WARP for site in trace.sites]
        atomic = [site.kind in (Kind.UPDATE, Kind.REPLACE) or bool(site.order) for site in trace.sites]
        self._events = np.array([False] * FIRST + atomic) | np.array(self._warps)

    def follow(self, rows: Rows, shared: Touches, arrays: Touches) -> Ordered:
        """The order of records of whole intervals."""
        objects = np.full(len(rows), -1, np.int64)
        objects[shared.row[::-1]] = shared.key[::-1]
        objects[arrays.row[::-1]] = arrays.key[::-1] + self._granules
        state = _State(self._threads)
        interval = -1
        for row in np.flatnonzero(self._events[rows.site]).tolist():
            if rows.interval[row] != interval:
                interval = int(rows.interval[row])
                state.begin()
            thread, site = int(rows.thread[row]), int(rows.site[row])
            if self._warps[site]:
                state.meet(thread, row)
            elif self._order[site] == Order.FENCE:
                state.fence(thread, row)
            elif self._order[site] == Order.FORK:
                state.fork(thread, row, int(rows.words[row, 0]))
            elif self._things[site] is not None:
                state.atomic(thread, row, ("thing", self._things[site]), self._order[site])
            else:
                state.atomic(thread, row, int(objects[row]), self._order[site])
        return state.order(rows)


class _State:
    """The vectors while the records are gone through, and what they were: `starts` says from which record on."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.vectors = np.eye(threads, dtype=np.int64)
        self.objects: dict[object, Ints] = {}
        self.fenced: dict[int, Ints] = {}  # by the thread: its vector at its last fence
        self.seen: dict[int, Ints] = {}  # by the thread: what relaxed atomics have read, for its next fence
        self.waits: dict[int, object] = {}  # by the thread: a meeting that others may still come to
        self.met: dict[int, int] = {}
        self.starts: list[tuple[int, int]] = []  # thread, record
        self.kept: list[Ints | tuple[Ints, Ints]] = []  # vectors; where a meeting is joined, both its parts

    def begin(self) -> None:
        """A new interval: each thread's clock is 1, and none knows of another."""
        self.vectors = np.eye(self.threads, dtype=np.int64)
        for table in (self.objects, self.fenced, self.seen, self.waits, self.met):
            table.clear()

    def meet(self, thread: int, row: int) -> None:
        """A warp meets: each lane takes over what all had done, once all are there."""
        self._arrived(thread)
        number = self.met[thread] = self.met.get(thread, 0) + 1
        meeting = ("warp", thread // WARP_SIZE, number)
        self._release(thread, meeting, self.vectors[thread])
        self._tick(thread)
        self.waits[thread] = meeting
        self.starts.append((thread, row + 1))
        self.kept.append((self.vectors[thread].copy(), self.objects[meeting]))

    def fence(self, thread: int, row: int) -> None:
        self._arrived(thread)
        self._take(thread, self.seen.pop(thread, None))
        self.fenced[thread] = self.vectors[thread].copy()
        self._tick(thread)
        self._keep(thread, row + 1)

    def fork(self, thread: int, row: int, copy: int) -> None:
        """What the thread did is before what the copy does."""
        self._arrived(thread)
        self._take(copy, self.vectors[thread])
        self._tick(copy)
        self._tick(thread)
        self._keep(copy, row + 1)
        self._keep(thread, row + 1)

    def atomic(self, thread: int, row: int, place: object, order: Order) -> None:
        self._arrived(thread)
        there = self.objects.get(place)
        if order & Order.ACQUIRE:
            self._take(thread, there)
        elif there is not None:
            self.seen[thread] = np.maximum(there, self.seen.get(thread, 0))
        if order & Order.RELEASE:
            self._release(thread, place, self.vectors[thread])
            self._tick(thread)
        elif thread in self.fenced:
            self._release(thread, place, self.fenced[thread])
        if order:
            self._keep(thread, row + 1)

    def _arrived(self, thread: int) -> None:
        """The thread runs again: all have come to the meeting at which it waited."""
        meeting = self.waits.pop(thread, None)
        if meeting is not None:
            self._take(thread, self.objects[meeting])

    def _take(self, thread: int, vector: Ints | None) -> None:
        if vector is not None:
            np.maximum(self.vectors[thread], vector, out=self.vectors[thread])

    def _release(self, thread: int, place: object, vector: Ints) -> None:
        found = self.objects.setdefault(place, np.zeros(self.threads, np.int64))
        np.maximum(found, vector, out=found)

    def _tick(self, thread: int) -> None:
        self.vectors[thread, thread] += 1

    def _keep(self, thread: int, row: int) -> None:
        self.starts.append((thread, row))
        self.kept.append(self.vectors[thread].copy())

    def order(self, rows: Rows) -> Ordered:
        """`starts` and `kept` as a question that is asked of many pairs at once."""
        if not self.starts:
            return lambda a, b: np.zeros(len(a), bool)
        kept = np.array([v if isinstance(v, np.ndarray) else np.maximum(*v) for v in self.kept])
        starts = np.array(self.starts, np.int64)
        span = len(rows) + 2
        place = starts[:, 0] * span + starts[:, 1]
        sequence = np.argsort(place, kind="stable")
        place = place[sequence]

        def vector_of(row: Ints) -> tuple[Ints, Bools]:
            """Which of `kept` it is, and whether there is one of the interval."""
            at = sequence[np.searchsorted(place, rows.thread[row] * span + row, side="right") - 1]
            begin = np.searchsorted(rows.interval, rows.interval[row])
            thread, start = starts[at, 0], starts[at, 1]
            return at, (thread == rows.thread[row]) & (start <= row) & (start > begin)

        def ordered(a: Ints, b: Ints) -> Bools:
            (one, some), (two, known) = vector_of(a), vector_of(b)
            clock = np.where(some, kept[one, rows.thread[a]], 1)
            found: Bools = known & (kept[two, rows.thread[a]] >= clock)
            return found

        return ordered
