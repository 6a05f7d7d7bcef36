"""What the checking mode finds in random logs, against all pairs of accesses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tileopt.backends.cpu.check.blocks import BetweenBlocks
from tileopt.backends.cpu.check.conflicts import by_warps, first_race
from tileopt.backends.cpu.check.effects import Kind
from tileopt.backends.cpu.check.expand import Rows, Touches
from tileopt.backends.cpu.check.initialised import Initialised

KINDS = np.array([0, 0, 0, Kind.READ, Kind.WRITE, Kind.UPDATE, Kind.REPLACE, Kind.WRITE])
HARMLESS = np.array([False] * 7 + [True])
KEYS = 12


@dataclass(frozen=True)
class Access:
    row: int
    site: int
    thread: int
    key: int
    block: int
    interval: int
    epoch: int

    @property
    def kind(self) -> int:
        return int(KINDS[self.site])


def random_log(rng: np.random.Generator) -> list[Access]:
    """Blocks one after the other, intervals within each; reads are likely, and few keys are popular."""
    out: list[Access] = []
    threads, keys = int(rng.integers(2, 70)), int(rng.integers(1, KEYS + 1))
    sites = rng.choice([3, 4, 5, 6, 7], 5, p=rng.dirichlet(np.ones(5)))
    interval = int(rng.integers(0, 3))
    for block in range(int(rng.integers(1, 4))):
        for _ in range(int(rng.integers(1, 4))):
            epochs = np.zeros(threads, np.int64)
            for _ in range(int(rng.integers(0, 9))):
                thread = int(rng.integers(threads))
                if rng.random() < 0.3:
                    epochs[thread // 32 * 32 : thread // 32 * 32 + 32] += 1
                site, key = int(rng.choice(sites)), int(rng.integers(keys))
                out.append(Access(len(out), site, thread, key, block, interval, int(epochs[thread])))
            interval += 1
    return out


def arrays(log: list[Access]) -> tuple[Rows, Touches]:
    """The log as the expander gives it: touches in no order of time."""

    def column(name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([getattr(a, name) for a in log], np.int64)

    words = np.zeros((len(log), 1), np.int64)
    rows = Rows(column("site"), column("thread"), words, column("interval"), column("block"), column("epoch"))
    order = np.argsort(rows.site, kind="stable")
    touches = Touches(np.arange(len(log)), column("key"), column("key")).part(order)
    return rows, touches


def races(a: Access, b: Access) -> bool:
    if a.key != b.key or a.interval != b.interval or a.thread == b.thread:
        return False
    if a.thread // 32 == b.thread // 32 and a.epoch != b.epoch:
        return False
    if a.site == b.site and HARMLESS[a.site]:
        return False
    kinds = {a.kind, b.kind}
    return kinds != {Kind.READ} and bool(kinds & {Kind.READ, Kind.WRITE})


def across(a: Access, b: Access) -> bool:
    return a.key == b.key and a.block != b.block and Kind.WRITE in (a.kind, b.kind)


@pytest.mark.parametrize("seed", range(8))
def test_random_logs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = [0, 0, 0]
    for _ in range(250):
        log = random_log(rng)
        if not log:
            continue
        rows, touches = arrays(log)
        wanted = [(b.row, a.row) for b in log for a in log[: b.row] if races(a, b)]
        pair = first_race(rows, touches, KEYS, KINDS, HARMLESS, by_warps(rows))
        assert (pair is None) is (not wanted)
        if pair is not None:
            first, second = (int(touches.row[at]) for at in pair)
            assert second == min(wanted)[0] and (second, first) in wanted
            found[0] += 1

        unread = [
            b.row
            for b in log
            if b.kind in (Kind.READ, Kind.UPDATE)
            and not any(a.key == b.key and a.block == b.block and a.kind != Kind.READ for a in log[: b.row])
        ]
        blocked = [b.row for b in log for a in log[: b.row] if across(a, b)]
        # In parts that end anywhere between intervals.
        cut = int(rng.integers(0, log[-1].interval + 2))
        initialised, between = Initialised(KEYS), BetweenBlocks(KEYS)
        reads: list[int] = []
        meets: list[int] = []
        for part in ([a for a in log if a.interval < cut], [a for a in log if a.interval >= cut]):
            if not part:
                continue
            rows, touches = arrays(part)
            start = part[0].row
            read = initialised.first_read(rows, touches, KINDS)
            reads += [] if read is None else [int(touches.row[read]) + start]
            race = between.first_race(rows, touches, KINDS)
            if race is not None:
                (site, block, _), at = race
                second = log[int(touches.row[at]) + start]
                assert any(a.site == site and a.block == block and across(a, second) for a in log[: second.row])
                meets.append(second.row)
        assert reads[:1] == sorted(unread)[:1]
        assert meets[:1] == sorted(blocked)[:1]
        found[1] += bool(reads)
        found[2] += bool(meets)
    assert min(found) > 20
