"""Races between blocks: a plain write to an array's element by one block, and any access to it by another.

Blocks run one after the other, so that for each element the first block that came, and the first that wrote, are
enough to keep: whoever conflicts with any block before conflicts with one of these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tileopt.backends.cpu.check.effects import Kind
from tileopt.backends.cpu.check.expand import Bools, Ints, Rows, Touches


@dataclass
class _First:
    """For each element the block, thread and site that came first."""

    block: Ints
    thread: Ints
    site: Ints

    @staticmethod
    def of(count: int) -> _First:
        return _First(np.full(count, -1, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64))

    def note(self, rows: Rows, touches: Touches) -> None:
        """`touches`: in the order of time."""
        new = touches.part(self.block[touches.key] < 0).part(slice(None, None, -1))  # the earliest is written last
        self.block[new.key] = rows.block[new.row]
        self.thread[new.key] = rows.thread[new.row]
        self.site[new.key] = rows.site[new.row]


class BetweenBlocks:
    """What the blocks of one launch have done to its arrays so far."""

    def __init__(self, elements: int) -> None:
        self._elements = elements
        self._came: _First | None = None
        self._wrote: _First | None = None

    def first_race(self, rows: Rows, touches: Touches, kinds: Ints) -> tuple[tuple[int, int, int], int] | None:
        """((site, block, thread) of the access before, the touch that conflicts with it)."""
        if not len(touches):
            return None
        if self._came is None or self._wrote is None:
            self._came, self._wrote = _First.of(self._elements), _First.of(self._elements)
        order = np.argsort(touches.row, kind="stable")
        ordered = touches.part(order)
        writes: Bools = kinds[rows.site[ordered.row]] == Kind.WRITE
        self._came.note(rows, ordered)
        self._wrote.note(rows, ordered.part(writes))
        block = rows.block[ordered.row]
        writer, comer = self._wrote.block[ordered.key], self._came.block[ordered.key]
        # A first writer of a later block than this touch's is found at that writer's own touch.
        after_write = (writer >= 0) & (writer < block)
        found = np.flatnonzero(after_write | (writes & (comer < block)))
        if not len(found):
            return None
        at = int(found[0])
        key = int(ordered.key[at])
        before = self._wrote if after_write[at] else self._came
        return (int(before.site[key]), int(before.block[key]), int(before.thread[key])), int(order[at])
