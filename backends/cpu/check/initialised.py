"""Reads of shared memory that no thread of the block has written before."""

from __future__ import annotations

import numpy as np

from tileopt.backends.cpu.check.expand import READS, Bools, Ints, Rows, Touches

_CELLS = 1 << 21  # of all blocks that are looked at together
_LATER = np.iinfo(np.int64).max


class Initialised:
    """Which granules of shared memory the block that runs has written."""

    def __init__(self, granules: int) -> None:
        self._written: Bools = np.zeros(granules, bool)
        self._block = -1

    def first_read(self, rows: Rows, touches: Touches, kinds: Ints) -> int | None:
        """The earliest touch that reads what is not initialised. The records come in order, in parts cut anywhere."""
        if not len(touches):
            return None
        block = rows.block[touches.row]
        most = max(1, _CELLS // len(self._written))
        first = int(block.min())
        if int(block.max()) - first < most:
            return self._in_blocks(rows, touches, kinds, block)
        for start in range(first, int(block.max()) + 1, most):
            chosen = np.flatnonzero((block >= start) & (block < start + most))
            if len(chosen):
                found = self._in_blocks(rows, touches.part(chosen), kinds, block[chosen])
                if found is not None:
                    return int(chosen[found])
        return None

    def _in_blocks(self, rows: Rows, touches: Touches, kinds: Ints, block: Ints) -> int | None:
        first, last, count = int(block.min()), int(block.max()), len(self._written)
        since = np.full((last - first + 1, count), _LATER, np.int64)
        if first == self._block:
            since[0, self._written] = -1
        kind = kinds[rows.site[touches.row]]
        flat = since.ravel()
        cell = (block - first) * count + touches.key
        writes = kind > 0
        np.minimum.at(flat, cell[writes], touches.row[writes])
        self._block, self._written = last, since[-1] < _LATER
        # An update reads before it writes: its own record is no excuse.
        bad = np.flatnonzero(READS[kind] & (flat[cell] >= touches.row))
        return int(bad[np.argmin(touches.row[bad])]) if len(bad) else None
