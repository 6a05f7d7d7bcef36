"""Follows the records of one launch, part by part, until the first finding.

The time of a record is its place in the log: threads run one at a time. Whole intervals are looked at, so that a part
that ends within one leaves its last records for the next part.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tileopt.backends.cpu.check.blocks import BetweenBlocks
from tileopt.backends.cpu.check.clocks import Clocks, needs_clocks
from tileopt.backends.cpu.check.conflicts import by_warps, first_race
from tileopt.backends.cpu.check.effects import Meeting
from tileopt.backends.cpu.check.expand import Expander, Ints, Rows, Touches
from tileopt.backends.cpu.check.findings import Divergence, Finding, Place, Race, Uninitialised
from tileopt.backends.cpu.check.initialised import Initialised
from tileopt.backends.cpu.check.meetings import Meetings
from tileopt.backends.cpu.check.sites import BLOCK, END, FIRST, OPENING, Trace

BATCH = 1 << 19  # records that are looked at together
TOUCHES = 1 << 20  # of which so many touches at a time, where barriers allow it
_LOW = 0xFFFFFFFF


class Analysis:
    """What the records of one launch show. `absorb` and `finish` give a finding, or None."""

    def __init__(self, trace: Trace, expander: Expander) -> None:
        self.trace, self.expander = trace, expander
        self._kinds = np.array([0] * FIRST + [int(site.kind) for site in trace.sites])
        self._harmless = np.array([False] * FIRST + [site.harmless for site in trace.sites])
        meets = [-1] * FIRST + [-1 if s.meeting is None else int(s.meeting) for s in trace.sites]
        self._syncs = np.array(meets) == Meeting.WARP
        self._orders = Clocks(trace, expander.granules) if needs_clocks(trace) else None
        self._meetings = Meetings(trace)
        self._initialised = Initialised(expander.granules)
        self._between = BetweenBlocks(expander.elements)
        self._pending: list[Ints] = []
        self._count, self._enough = 0, BATCH
        self._interval = self._block = -1

    def absorb(self, records: Ints, look: bool = True) -> Finding | None:
        """`records`: a row each; they are copied. `look`: whether no check has failed so far."""
        self._pending.append(records.copy())
        self._count += len(records)
        return self._look(whole=False) if look and self._count >= self._enough else None

    def finish(self, records: Ints, stopped: int | None = None) -> Finding | None:
        """The last records. `stopped`: a thread that failed a check, after which no thread came to its barriers."""
        self._pending.append(records.copy())
        return self._look(whole=True, stopped=stopped)

    def _look(self, whole: bool, stopped: int | None = None) -> Finding | None:
        records = np.concatenate(self._pending)
        site = records[:, 0] & _LOW
        marks = np.flatnonzero(site <= OPENING)
        end = len(records) if whole else int(marks[-1]) if len(marks) else 0
        self._pending = [self._fewer(records[end:])]
        self._count = len(self._pending[0])
        self._enough = max(BATCH, 2 * self._count)  # so that a long interval is not gone through again and again
        rows = self._rows(records[:end], site[:end])
        for part in self._parts(rows):
            finding = self._find(part, stopped)
            if finding is not None:
                return finding
        return None

    def _fewer(self, records: Ints) -> Ints:
        """Without what a long stretch between barriers repeats: the first of equal records says as much as all."""
        if len(records) < BATCH or self._syncs.any():
            return records
        _, first = np.unique(records, axis=0, return_index=True)
        meeting = np.isin(records[:, 0] & _LOW, np.flatnonzero(self._meetings.sites >= 0))
        return records[np.union1d(first, np.flatnonzero(meeting))]

    def _rows(self, records: Ints, site: Ints) -> Rows:
        count = len(records)
        interval = self._interval + np.cumsum(site <= OPENING)
        begins = np.maximum.accumulate(np.where(site == BLOCK, np.arange(count), -1))
        block = np.where(begins < 0, self._block, records[begins, 1]) if count else begins
        if count:
            self._interval, self._block = int(interval[-1]), int(block[-1])
        rows = Rows(site, records[:, 0] >> 32, records[:, 1:], interval, block, np.zeros(count, np.int64))
        if self._syncs.any():
            self._count_epochs(rows)
        return rows

    def _count_epochs(self, rows: Rows) -> None:
        order = np.lexsort((rows.thread, rows.interval))
        lane = rows.interval[order] * (self.trace.threads + self.trace.copies) + rows.thread[order]
        passed = np.cumsum(self._syncs[rows.site[order]])
        starts = np.flatnonzero(np.diff(lane, prepend=-1))
        before = np.where(starts > 0, passed[starts - 1], 0)
        rows.epoch[order] = passed - np.repeat(before, np.diff(starts, append=len(lane)))

    def _parts(self, rows: Rows) -> Iterator[Rows]:
        """Whole intervals, as many as make `TOUCHES`."""
        if not len(rows):
            return
        cost = np.cumsum(self.expander.costs[rows.site])
        edges = np.flatnonzero(np.diff(rows.interval, prepend=-1))
        start = 0
        while start < len(rows):
            room = int(cost[start - 1] if start else 0) + TOUCHES
            fits = edges[(edges > start) & (cost[edges - 1] <= room)]
            later = edges[edges > start]
            last = cost[-1] <= room or not len(later)
            end = len(rows) if last else int(fits[-1]) if len(fits) else int(later[0])
            yield rows.part(slice(start, end))
            start = end

    def _find(self, rows: Rows, stopped: int | None) -> Finding | None:
        """The first of what these records show. In one interval a missed meeting comes before a race, which it may
        explain, and a race before a read of nothing.
        """
        found: list[tuple[int, int, Finding]] = []
        shared, arrays = self.expander.touches(rows)
        ordered = by_warps(rows) if self._orders is None else self._orders.follow(rows, shared, arrays)
        for touches, keys in ((shared, self.expander.granules), (arrays, self.expander.elements)):
            pair = first_race(rows, touches, max(1, keys), self._kinds, self._harmless, ordered)
            if pair is not None:
                first, second = (self._place(rows, touches, at) for at in pair)
                found.append((int(rows.interval[touches.row[pair[1]]]), 0, Race(first, second)))
        read = self._initialised.first_read(rows, shared, self._kinds)
        if read is not None:
            found.append((int(rows.interval[shared.row[read]]), 1, Uninitialised(self._place(rows, shared, read))))
        across = self._between.first_race(rows, arrays, self._kinds)
        if across is not None:
            (number, block, thread), at = across
            second = self._place(rows, arrays, at)
            before = Place(self.trace.site(number), block, thread, second.element)
            found.append((int(rows.interval[arrays.row[at]]), 2, Race(before, second)))
        diverged = self._meetings.first_divergence(rows)
        if diverged is not None and not self._is_stop(rows, diverged[0], stopped):
            waits, absent, other = diverged
            site = self.trace.site(int(rows.site[waits]))
            there = None if other is None else self.trace.site(int(rows.site[other]))
            finding = Divergence(site, int(rows.block[waits]), int(rows.thread[waits]), absent, there)
            found.append((int(rows.interval[waits]), -1, finding))
        return min(found, key=lambda f: f[:2])[2] if found else None

    def _is_stop(self, rows: Rows, at: int, stopped: int | None) -> bool:
        """Whether a thread was missed that the failed check had ended, or what came after it."""
        if stopped is None:
            return False
        ends = np.flatnonzero((rows.site == END) & (rows.thread == stopped))
        return bool(len(ends)) and bool(rows.interval[at] >= rows.interval[ends[-1]])

    def _place(self, rows: Rows, touches: Touches, at: int) -> Place:
        row = int(touches.row[at])
        site = self.trace.site(int(rows.site[row]))
        return Place(site, int(rows.block[row]), int(rows.thread[row]), int(touches.place[at]))
