"""A launch that is checked: the blocks run one after the other on one thread, and their records are looked at."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tileopt.backends.compiled import SlotKind
from tileopt.backends.cpu.check.analysis import Analysis
from tileopt.backends.cpu.check.backend import LOG, WORDS
from tileopt.backends.cpu.check.expand import Expander, Ints
from tileopt.backends.cpu.check.findings import Finding, Reporter
from tileopt.backends.cpu.check.modelled import BlockLogs
from tileopt.backends.cpu.check.sites import Trace
from tileopt.backends.cpu.jit import MODEL
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
        return lambda buffer, grid, _: _Launch(self, buffer, grid).run(self._entry)

    @property
    def trace(self) -> Trace:
        return self._trace


class _Launch:
    """One launch. The words behind the record of a failed check are those that `backend` names."""

    def __init__(self, code: CheckedCode, buffer: ArgumentBuffer, grid: Grid) -> None:
        self.artifact, self.trace, self.buffer, self.grid = code.artifact, code.trace, buffer, grid
        self.record = (ctypes.c_int64 * WORDS)()
        self.log = np.empty((_CAPACITY, 1 + self.trace.words), np.int64)
        self.found: list[Finding | BaseException] = []
        buffer.words[len(self.artifact.params) - 1] = ctypes.addressof(self.record)

    def run(self, entry: Any) -> None:
        """Runs the grid. Raises CheckError or BoundsError for the first fault."""
        error: BaseException | None = None
        if MODEL in self.artifact.declarations:
            error = self._modelled(entry)
        else:
            self._plain(entry)
        record, artifact = self.record, self.artifact
        if self.found:
            if isinstance(self.found[0], BaseException):
                raise self.found[0]
            block = artifact.block or (artifact.threads, 1, 1)
            raise Reporter(artifact.name, self.expander, block, self.grid).error(self.found[0])
        if record[0]:
            failed, site = check_error(artifact, list(record)), artifact.checks[record[0] - 1]
            if site.message is None:
                failed.notes += ((f"'{site.array}' comes from here", self.trace.homes[record[0] - 1]),)
            raise failed
        if error is not None:
            raise error

    def _plain(self, entry: Any) -> None:
        artifact, record = self.artifact, self.record
        shared = np.full(artifact.shared_bytes + _ALIGN, _POISON, np.uint8)
        base = shared.ctypes.data + -shared.ctypes.data % _ALIGN
        self._begin(base)
        callback = _CALL(self._empty)
        record[LOG], record[LOG + 2] = self.log.ctypes.data, _CAPACITY
        record[LOG + 3] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        entry(self.buffer.address, base, 0, self._blocks(), *self.grid)
        self._finish(self.log[: record[LOG + 1]])

    def _modelled(self, entry: Any) -> BaseException | None:
        """By the model of the hardware, whose blocks have shared memory of their own."""
        from tileopt.backends.cpu.model.machine import observe, take_error

        self._begin(0)
        logs = BlockLogs(self.trace, self.record, self.log, self.grid, self._absorb)
        callback = _CALL(logs.empty)
        self.record[LOG + 3] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        observe(logs)
        try:
            entry(self.buffer.address, 0, 0, self._blocks(), *self.grid)
        finally:
            observe(None)
        error = take_error()
        self._finish(self.log[:0])
        return error

    def _begin(self, shared: int) -> None:
        extents = _extents(self.artifact, self.buffer.words)
        self.expander = Expander(self.trace, extents, shared, self.artifact.shared_bytes)
        self.analysis = Analysis(self.trace, self.expander)

    def _blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    def _empty(self) -> None:
        records, self.record[LOG + 1] = self.log[: self.record[LOG + 1]], 0
        self._absorb(records)

    def _absorb(self, records: Ints) -> None:
        """Takes records away, and stops the grid for what they show."""
        if self.record[0] == _FOUND:
            return  # what is left runs to its end
        try:
            finding = self.analysis.absorb(records, look=not self.record[0])
        except BaseException as error:  # must not pass through native code
            self.found.append(error)
            self.record[0] = _FOUND
            return
        if finding is not None:
            self.found.append(finding)
            self.record[0] = _FOUND

    def _finish(self, records: Ints) -> None:
        if not self.found:
            last = self.analysis.finish(records, int(self.record[6]) if self.record[0] else None)
            self.found += [] if last is None else [last]


def _extents(artifact: Artifact, words: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The extents of each array, by its place among the arguments."""
    out: dict[int, tuple[int, ...]] = {}
    for slot, word in zip(artifact.params, words, strict=False):
        if slot.kind is SlotKind.POINTER:
            out[slot.parameter] = ()
        elif slot.kind is SlotKind.EXTENT:
            out[slot.parameter] += (int(word),)
    return out
