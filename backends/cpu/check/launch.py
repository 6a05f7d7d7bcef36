"""A launch that is checked: the blocks run one after the other on one thread, and their records are looked at."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tileopt.backends.compiled import SlotKind
from tileopt.backends.cpu.check.analysis import Analysis
from tileopt.backends.cpu.check.backend import LOG, WORDS
from tileopt.backends.cpu.check.expand import Expander
from tileopt.backends.cpu.check.findings import Finding, Reporter
from tileopt.backends.cpu.check.sites import Trace
from tileopt.backends.runtime.artifact import Artifact
from tileopt.backends.runtime.check_errors import check_error
from tileopt.backends.runtime.grid import Grid
from tileopt.backends.runtime.plan import ArgumentBuffer, Run

_ALIGN = 128
_POISON = 0xFF  # NaN in any float: what a block finds in shared memory
_CAPACITY = 1 << 16  # records
_FOUND = -1  # stops the grid as the number of a failed check does
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *(ctypes.c_int64 for _ in range(5)))
_CALL = ctypes.CFUNCTYPE(None)


class CheckedCode:
    """`loaded` keeps the native code alive."""

    __slots__ = ("_entry", "_loaded", "_trace", "artifact")

    def __init__(self, artifact: Artifact, loaded: Any) -> None:
        self.artifact = artifact
        self._loaded = loaded
        self._entry = _ENTRY(loaded.address)
        assert isinstance(artifact.trace, Trace)
        self._trace = artifact.trace

    def launcher(self) -> Run:
        return lambda buffer, grid, _: self._run(buffer, grid)

    def _run(self, buffer: ArgumentBuffer, grid: Grid) -> None:
        """Runs the grid. Raises CheckError or BoundsError for the first fault."""
        artifact, record = self.artifact, (ctypes.c_int64 * WORDS)()
        shared = np.full(artifact.shared_bytes + _ALIGN, _POISON, np.uint8)
        base = shared.ctypes.data + -shared.ctypes.data % _ALIGN
        expander = Expander(self._trace, self._extents(buffer.words), base, artifact.shared_bytes)
        analysis = Analysis(self._trace, expander)
        log = np.empty((_CAPACITY, 1 + self._trace.words), np.int64)
        found: list[Finding | BaseException] = []

        def empty() -> None:
            records, record[LOG + 1] = log[: record[LOG + 1]], 0
            if record[0] == _FOUND:
                return  # what is left runs to its end
            try:
                finding = analysis.absorb(records, look=not record[0])
            except BaseException as error:  # must not pass through native code
                finding = error  # type: ignore[assignment]
            if finding is not None:
                found.append(finding)
                record[0] = _FOUND

        callback = _CALL(empty)
        record[LOG], record[LOG + 2] = log.ctypes.data, _CAPACITY
        record[LOG + 3] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        buffer.words[len(artifact.params) - 1] = ctypes.addressof(record)
        self._entry(buffer.address, base, 0, grid[0] * grid[1] * grid[2], *grid)
        if not found:
            last = analysis.finish(log[: record[LOG + 1]], int(record[6]) if record[0] else None)
            found += [] if last is None else [last]
        if found:
            if isinstance(found[0], BaseException):
                raise found[0]
            block = artifact.block or (artifact.threads, 1, 1)
            raise Reporter(artifact.name, expander, block, grid).error(found[0])
        if record[0]:
            error = check_error(artifact, list(record))
            site = artifact.checks[record[0] - 1]
            if site.message is None:
                error.notes += ((f"'{site.array}' comes from here", self._trace.homes[record[0] - 1]),)
            raise error

    def _extents(self, words: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """The extents of each array, by its place among the arguments."""
        out: dict[int, tuple[int, ...]] = {}
        for slot, word in zip(self.artifact.params, words, strict=False):
            if slot.kind is SlotKind.POINTER:
                out[slot.parameter] = ()
            elif slot.kind is SlotKind.EXTENT:
                out[slot.parameter] += (int(word),)
        return out
