"""Barriers and meetings of a warp to which not all threads come, or which are not the same one for all.

Where a barrier opens, every thread has come to one or has ended. The n-th meeting of a warp since then must be one op
in all its lanes: one that ends, or waits at a barrier, before it comes there is missed.
"""

from __future__ import annotations

import numpy as np

from tileopt.backends.cpu.check.effects import Meeting
from tileopt.backends.cpu.check.expand import Ints, Rows
from tileopt.backends.cpu.check.sites import END, Trace
from tileopt.dialects.layout import WARP_SIZE

Diverged = tuple[int, int, int | None]  # row of who waits, the thread that is not there, row of where that waits


class Meetings:
    """Follows the meetings of one launch."""

    def __init__(self, trace: Trace) -> None:
        self._threads = trace.threads
        self.sites = np.array([-1] * 3 + [-1 if s.meeting is None else int(s.meeting) for s in trace.sites])
        self._barriers = bool((self.sites == Meeting.BLOCK).any())
        self._warps = bool((self.sites > Meeting.BLOCK).any())

    def first_divergence(self, rows: Rows) -> Diverged | None:
        """In whole intervals."""
        found: list[Diverged] = []
        meeting = self.sites[rows.site]
        if self._barriers:
            found += self._at_barriers(rows, np.flatnonzero(meeting == Meeting.BLOCK))
        if self._warps:
            found += self._in_warps(rows, np.flatnonzero(meeting > Meeting.BLOCK), meeting)
        return min(found, key=lambda f: (int(rows.interval[f[0]]), f[0])) if found else None

    def _at_barriers(self, rows: Rows, at: Ints) -> list[Diverged]:
        if not len(at):
            return []
        starts = np.flatnonzero(np.diff(rows.interval[at], prepend=-1))
        sites = rows.site[at]
        least, most = np.minimum.reduceat(sites, starts), np.maximum.reduceat(sites, starts)
        count = np.diff(starts, append=len(at))
        bad = np.flatnonzero((least != most) | (count != self._threads))
        if not len(bad):
            return []
        came = at[starts[bad[0]] : starts[bad[0]] + count[bad[0]]]
        first, other = int(came[0]), came[rows.site[came] != rows.site[came[0]]]
        if len(other):
            return [(first, int(rows.thread[other[0]]), int(other[0]))]
        absent = np.setdiff1d(np.arange(self._threads), rows.thread[came])
        return [(first, int(absent[0]), None)]

    def _in_warps(self, rows: Rows, at: Ints, meeting: Ints) -> list[Diverged]:
        if not len(at):
            return []
        order = np.lexsort((at, rows.thread[at], rows.interval[at]))
        at = at[order]
        lane = rows.interval[at] * self._threads + rows.thread[at]  # a lane in an interval
        starts = np.flatnonzero(np.diff(lane, prepend=-1))
        count = np.diff(starts, append=len(at))
        number = np.arange(len(at)) - np.repeat(starts, count)
        warps = -(-self._threads // WARP_SIZE)
        warp = rows.interval[at] * warps + rows.thread[at] // WARP_SIZE
        out: list[Diverged] = []
        # The same op in all lanes.
        order = np.lexsort((at, number, warp))
        a, b = order[:-1], order[1:]
        differ = (warp[a] == warp[b]) & (number[a] == number[b]) & (rows.site[at[a]] != rows.site[at[b]])
        for i in np.flatnonzero(differ)[:1]:
            first, second = int(at[a[i]]), int(at[b[i]])
            out.append((first, int(rows.thread[second]), second))
        # Lanes that wait at a barrier, or end with their warp still meeting, have been at fewer.
        out += self._absent(rows, at, number, warp, meeting)
        return out

    def _absent(self, rows: Rows, at: Ints, number: Ints, warp: Ints, meeting: Ints) -> list[Diverged]:
        leaves = np.flatnonzero((meeting == Meeting.BLOCK) | (rows.site == END))
        if not len(leaves):
            return []
        warps = -(-self._threads // WARP_SIZE)
        groups, index = np.unique(warp, return_inverse=True)
        most = np.full(len(groups), -1, np.int64)
        np.maximum.at(most, index, number)
        lane = rows.interval[at] * self._threads + rows.thread[at]
        lanes, lane_index = np.unique(lane, return_inverse=True)
        met = np.full(len(lanes), -1, np.int64)
        np.maximum.at(met, lane_index, number)
        waits = rows.interval[leaves] * self._threads + rows.thread[leaves]
        home = rows.interval[leaves] * warps + rows.thread[leaves] // WARP_SIZE
        place = np.searchsorted(groups, home).clip(max=len(groups) - 1)
        inside = groups[place] == home
        spot = np.searchsorted(lanes, waits).clip(max=len(lanes) - 1)
        own = np.where(lanes[spot] == waits, met[spot], -1)
        short = np.flatnonzero(inside & (own < most[place]))
        if not len(short):
            return []
        s = int(short[0])
        there = np.flatnonzero((index == place[s]) & (number == own[s] + 1))  # the first that it missed
        left = int(leaves[s])
        return [(int(at[there[0]]), int(rows.thread[left]), None if rows.site[left] == END else left)]
