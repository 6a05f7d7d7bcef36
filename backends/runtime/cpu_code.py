"""A kernel on the CPU: one native function that runs a range of blocks, given to one thread or to all."""

from __future__ import annotations

import ctypes
import threading
from time import perf_counter_ns
from typing import Any

from tileopt.backends.compiled import SlotKind
from tileopt.backends.cpu.jit import MODEL
from tileopt.backends.runtime import pool
from tileopt.backends.runtime.artifact import Artifact
from tileopt.backends.runtime.check_errors import RECORD_WORDS, check_error
from tileopt.backends.runtime.grid import Grid
from tileopt.backends.runtime.plan import ArgumentBuffer, Run

_ALIGN = 128
_INLINE_NS = 60_000  # waking the other threads costs about as much
_MULTIPROCESSORS = 3  # of the machine that the model of the hardware is
_CHUNKS = 4  # for each thread, so that uneven blocks even out

_ENTRY = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_int64,
)

_local = threading.local()


def _scratch(count: int) -> int:
    """Address of this thread's scratch memory of at least so many bytes. It holds what the last kernel left in it."""
    have: tuple[int, int, Any] | None = getattr(_local, "scratch", None)
    if have is None or have[0] < count:
        memory = ctypes.create_string_buffer(count + _ALIGN)
        start = ctypes.addressof(memory)
        have = _local.scratch = (count, start + -start % _ALIGN, memory)
    return have[1]


class CpuCode:
    """`loaded` keeps the native code alive."""

    __slots__ = ("_entry", "_loaded", "_scratch_bytes", "artifact")

    def __init__(self, artifact: Artifact, loaded: Any) -> None:
        self.artifact = artifact
        self._loaded = loaded
        self._entry = _ENTRY(loaded.address)
        self._scratch_bytes = max(_ALIGN, artifact.shared_bytes)

    def launcher(self) -> Run:
        """What launches with arguments of like shapes: how long they took is remembered with it."""
        cost, run = [0.0], self.run
        if MODEL in self.artifact.declarations:
            return lambda buffer, grid, _: self._run_modelled(buffer, grid)
        if self.artifact.has_record:
            return lambda buffer, grid, _: self._run_checked(buffer, grid, cost)
        return lambda buffer, grid, _: run(buffer.address, grid, cost)

    def _run_checked(self, buffer: ArgumentBuffer, grid: Grid, cost: list[float]) -> None:
        """Runs the grid. Raises BoundsError for the first check that failed."""
        record = (ctypes.c_int64 * RECORD_WORDS)()
        buffer.words[len(self.artifact.params) - 1] = ctypes.addressof(record)
        self.run(buffer.address, grid, cost)
        if record[0]:
            raise check_error(self.artifact, list(record))

    def _run_modelled(self, buffer: ArgumentBuffer, grid: Grid) -> None:
        """Runs the grid by the model of the hardware, in this thread. Raises BoundsError and DeviceError."""
        from tileopt.backends.cpu.model.machine import take_error

        record = (ctypes.c_int64 * RECORD_WORDS)()
        if self.artifact.has_record:
            buffer.words[len(self.artifact.params) - 1] = ctypes.addressof(record)
        blocks, launched = grid[0] * grid[1] * grid[2], grid
        if self.artifact.persistent:  # as many blocks as such a machine has take those of the grid in turn
            first = next(at for at, slot in enumerate(self.artifact.params) if slot.kind is SlotKind.GRID)
            buffer.words[first], buffer.words[first + 1], buffer.words[first + 2] = grid
            whole = max(1, _MULTIPROCESSORS // self.artifact.cluster)
            most = whole * self.artifact.cluster
            launched = (min(blocks, most), 1, 1)
        self._entry(buffer.address, 0, 0, blocks, *launched)
        error = take_error()
        if record[0]:
            raise check_error(self.artifact, list(record))
        if error is not None:
            raise error

    def run(self, slots: int, grid: Grid, cost: list[float]) -> None:
        """Runs the whole grid and returns when it is done.

        `slots`: address of the arguments. `cost`: one number, the nanoseconds of one block as last seen with arguments
        like these (0: never); it decides whether the grid is worth waking the other threads.
        """
        gx, gy, gz = grid
        blocks = gx * gy * gz
        entry = self._entry
        first = 0
        if not cost[0] and blocks > 1:
            start = perf_counter_ns()
            entry(slots, _scratch(self._scratch_bytes), 0, 1, gx, gy, gz)
            cost[0] = max(1.0, perf_counter_ns() - start)
            first = 1
        if blocks == 1 or (blocks - first) * cost[0] < _INLINE_NS:
            start = perf_counter_ns()
            entry(slots, _scratch(self._scratch_bytes), first, blocks, gx, gy, gz)
            cost[0] = max(1.0, (perf_counter_ns() - start) / (blocks - first))
            return
        self._run_on_all(slots, first, blocks, grid, cost)

    def _run_on_all(self, slots: int, offset: int, blocks: int, grid: Grid, cost: list[float]) -> None:
        entry, count = self._entry, self._scratch_bytes

        def work(first: int, last: int) -> None:
            entry(slots, _scratch(count), offset + first, offset + last, *grid)

        workers, start = pool.pool(), perf_counter_ns()
        left = blocks - offset
        workers.run(work, left, max(1, left // (workers.size * _CHUNKS)))
        cost[0] = max(1.0, (perf_counter_ns() - start) * min(workers.size, left) / left)
