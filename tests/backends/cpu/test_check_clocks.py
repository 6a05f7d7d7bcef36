"""The order that atomics, fences and meetings make in random logs, against paths from access to access."""

from __future__ import annotations

import numpy as np
import pytest

from tileopt.backends.cpu.check.clocks import Clocks
from tileopt.backends.cpu.check.effects import Kind, Meeting, Order
from tileopt.backends.cpu.check.expand import Rows, Touches
from tileopt.backends.cpu.check.sites import FIRST, Site, Trace

THREADS = 36  # the second warp has four lanes
PLAIN, RELAXED, ACQUIRE, RELEASE, BOTH, FENCE, MEET = range(FIRST, FIRST + 7)
TRACE = Trace(
    (
        Site(None, Kind.WRITE),
        Site(None, Kind.UPDATE),
        Site(None, Kind.UPDATE, order=Order.ACQUIRE),
        Site(None, Kind.UPDATE, order=Order.RELEASE),
        Site(None, Kind.UPDATE, order=Order.ACQUIRE | Order.RELEASE),
        Site(None, order=Order.FENCE),
        Site(None, meeting=Meeting.WARP),
    ),
    1,
    THREADS,
    None,
    (),
)
Event = tuple[int, int, int, int]  # interval, thread, site, key


def random_log(rng: np.random.Generator) -> list[Event]:
    out: list[Event] = []
    who = [0, 32, 33, 1][: int(rng.integers(2, 5))]
    odds = 0.65 * rng.dirichlet(np.ones(7)) + 0.35 * (np.arange(7) == 0)
    for interval in range(int(rng.integers(1, 3))):
        out.append((interval, 0, 1, -1))
        for _ in range(int(rng.integers(0, 40))):
            site = int(rng.choice(np.arange(PLAIN, MEET + 1), p=odds))
            if site == MEET:
                out += [(interval, lane, MEET, -1) for lane in rng.permutation([32, 33, 34, 35]).tolist()]
            else:
                key = int(rng.integers(2)) if site not in (PLAIN, FENCE) else -1
                out.append((interval, int(rng.choice(who)), site, key))
    return out


def paths(log: list[Event]) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """[a, b]: whether a is before b by program order and what synchronises. All later than their sources: one sweep."""
    count = len(log)
    before: list[set[int]] = [set() for _ in log]  # edges into each event

    def last(at: int, site: int) -> int | None:
        same = [i for i in range(at) if log[i][:3] == (log[at][0], log[at][1], site)]
        return same[-1] if same else None

    def following(at: int, site: int) -> int | None:
        return next((i for i in range(at + 1, count) if log[i][:3] == (log[at][0], log[at][1], site)), None)

    for b, (interval, thread, site, key) in enumerate(log):
        for a in range(b):
            other = log[a]
            if other[0] != interval:
                continue
            if other[1] == thread:
                before[b].add(a)
            if key >= 0 and other[3] == key:
                source = a if other[2] in (RELEASE, BOTH) else last(a, FENCE)
                target = b if site in (ACQUIRE, BOTH) else following(b, FENCE)
                if source is not None and target is not None:
                    before[target].add(source)
    meets = [i for i, event in enumerate(log) if event[2] == MEET]
    for group in (meets[i : i + 4] for i in range(0, len(meets), 4)):
        for at in group:  # each lane's next event is behind all arrivals
            later = [i for i in range(group[-1] + 1, count) if log[i][:2] == log[at][:2]]
            for i in later:
                before[i].update(group)
    reach = np.zeros((count, count), bool)
    for b in range(count):
        for a in before[b]:
            reach[a, b] = True
            reach[:, b] |= reach[:, a]
    return reach


@pytest.mark.parametrize("seed", range(6))
def test_random_logs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = {True: 0, False: 0}
    for _ in range(60):
        log = random_log(rng)
        columns = np.array(log, np.int64)
        zero = np.zeros(len(log), np.int64)
        rows = Rows(columns[:, 2], columns[:, 1], zero[:, None], columns[:, 0], zero, zero)
        atomics = np.flatnonzero(columns[:, 3] >= 0)
        touches = Touches(atomics, columns[atomics, 3], columns[atomics, 3])
        nothing = touches.part(slice(0, 0))
        shared = bool(rng.integers(2))
        clocks = Clocks(TRACE, 5)
        ordered = clocks.follow(rows, *((touches, nothing) if shared else (nothing, touches)))
        reach = paths(log)
        plain = [i for i, event in enumerate(log) if event[2] == PLAIN]
        pairs = [(a, b) for b in plain for a in plain if a < b and log[a][0] == log[b][0] and log[a][1] != log[b][1]]
        if pairs:
            a, b = np.array(pairs).T
            np.testing.assert_array_equal(ordered(a, b), reach[a, b])
            for value in reach[a, b].tolist():
                seen[value] += 1
    assert min(seen.values()) > 20
