"""The threads that share a grid's blocks on the CPU. Compiled code runs without the interpreter's lock."""

from __future__ import annotations

import itertools
import os
import threading
import warnings
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[int, int], None]  # runs the blocks from the first up to the last

_STACK = 16 << 20  # some systems give threads far less than the main thread


def cores() -> int:
    """How many threads to use: TILEOPT_NUM_THREADS, or the cores that this process may run on."""
    given = os.environ.get("TILEOPT_NUM_THREADS", "")
    if given.isdigit() and int(given):
        return int(given)
    if given:
        warnings.warn(f"TILEOPT_NUM_THREADS={given!r} is no number of threads, and is not used", stacklevel=2)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class _Job:
    """One grid: threads take chunks until none is left; the first error stops the rest.

    The caller works too and ends the job when no chunk is left: helpers that come later find it closed, so that it
    waits for none that has not begun (they may be busy, or wait for a job of their own).
    """

    __slots__ = ("_chunks", "_closed", "_idle", "_lock", "_running", "_stop", "_work", "blocks", "chunk", "error")

    def __init__(self, work: Work, blocks: int, chunk: int) -> None:
        self._work, self.blocks, self.chunk = work, blocks, chunk
        self._chunks = itertools.count(0, chunk)
        self._running, self._closed, self._stop = 0, False, False
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._stop:
                first = next(self._chunks)
                if first >= self.blocks:
                    return
                self._work(first, min(first + self.chunk, self.blocks))
        except BaseException as error:
            with self._lock:
                self.error = self.error or error
            self._stop = True

    def help(self) -> None:
        """One helper's share."""
        with self._lock:
            if self._closed:
                return
            self._running += 1
        self.run()
        with self._lock:
            self._running -= 1
            if self._closed and not self._running:
                self._idle.set()

    def finish(self) -> None:
        """Returns when no thread works on the job any more, whatever interrupts: its memory may go away afterwards."""
        with self._lock:
            self._closed = True
            if not self._running:
                self._idle.set()
        interrupted: BaseException | None = None
        while True:
            try:
                self._idle.wait()
                break
            except BaseException as error:  # KeyboardInterrupt
                interrupted, self._stop = error, True
        if interrupted is not None:
            raise interrupted
        if self.error is not None:
            raise self.error


class Pool:
    """Threads that wait for jobs; they start when first needed and are daemons."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._queue: SimpleQueue[_Job] = SimpleQueue()
        self._started = 0
        self._lock = threading.Lock()

    def run(self, work: Work, blocks: int, chunk: int) -> None:
        """Runs all blocks, this thread helping; returns when all are done. Raises what any thread raised."""
        helpers = min(self.size, -(-blocks // chunk)) - 1
        if helpers > self._started:
            self._start(helpers)
        job = _Job(work, blocks, chunk)
        for _ in range(helpers):
            self._queue.put(job)
        try:
            job.run()
        finally:
            job.finish()

    def _start(self, count: int) -> None:
        with self._lock:
            before = threading.stack_size(_STACK)
            try:
                while self._started < count:
                    threading.Thread(target=self._serve, name="tileopt", daemon=True).start()
                    self._started += 1
            finally:
                threading.stack_size(before)

    def _serve(self) -> None:
        while True:
            self._queue.get().help()


_pool: Pool | None = None


def pool() -> Pool:
    """The process' pool."""
    global _pool
    if _pool is None:
        _pool = Pool(cores())
    return _pool


def _forget() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)  # a fork has the calling thread only
