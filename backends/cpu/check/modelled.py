"""The records of kernels that the model of the hardware runs: the blocks of a cluster take turns, and each has a log.

When a cluster has ended its logs are looked at one after the other, as those of blocks that run one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tileopt.backends.cpu.check.backend import LOG
from tileopt.backends.cpu.check.expand import Ints
from tileopt.backends.cpu.check.sites import BLOCK, FIRST, OPENING, Trace
from tileopt.backends.runtime.grid import Grid

if TYPE_CHECKING:
    from tileopt.backends.cpu.model.state import Block, Description, Thread

_LOW = 0xFFFFFFFF


class BlockLogs:
    """An observer of the model (see `machine.Observer`). `absorb` takes a block's records."""

    def __init__(self, trace: Trace, record: Any, log: Ints, grid: Grid, absorb: Callable[[Ints], None]) -> None:
        self._trace, self._record, self._log, self._grid, self._absorb = trace, record, log, grid, absorb
        self._parts: dict[Block, list[Ints]] = {}
        self._current: Block | None = None
        memories = [None] * FIRST + [site.memory for site in trace.sites]
        self._in_shared = np.array([m is not None and m.shared is not None for m in memories])
        record[LOG], record[LOG + 2] = log.ctypes.data, len(log)

    def enter(self, block: Block) -> None:
        if block is not self._current:
            self.empty()
            self._current = block
            if block not in self._parts:
                self._parts[block] = [self._mark(BLOCK, self._number(block))]

    def met(self, threads: list[Thread], asked: Description) -> None:
        if asked.op == "simt.barrier" and asked.get("id") is None:
            self._opens([threads[0].block])
        elif asked.op == "gpu.cluster_wait":
            self._opens(threads[0].block.cluster)

    def done(self, cluster: list[Block]) -> None:
        self.empty()
        self._current = None
        for block in cluster:
            parts = self._parts.pop(block, [])
            if parts:
                records = np.concatenate(parts)
                rows = self._in_shared[records[:, 0] & _LOW]
                records[rows, 1] -= block.base
                self._absorb(records)

    def empty(self) -> None:
        """Takes away what the running block has written."""
        count = self._record[LOG + 1]
        if count and self._current is not None:
            self._parts[self._current].append(self._log[:count].copy())
        self._record[LOG + 1] = 0

    def _opens(self, blocks: list[Block]) -> None:
        self.empty()
        for block in blocks:
            self._parts[block].append(self._mark(OPENING, 0))

    def _mark(self, site: int, word: int) -> Ints:
        row = np.zeros((1, 1 + self._trace.words), np.int64)
        row[0, :2] = site, word
        return row

    def _number(self, block: Block) -> int:
        x, y, z = block.place
        return x + self._grid[0] * (y + self._grid[1] * z)
