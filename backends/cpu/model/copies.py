"""`cp.async`: copies that are made when the thread waits for their group, and not before."""

from __future__ import annotations

from tileopt.backends.cpu.model.machine import Model
from tileopt.backends.cpu.model.state import Description, Thread, bytes_at
from tileopt.dialects.dtypes import DTYPES


def _copy(target: int, source: int, count: int, size: int, stride: int) -> None:
    """`count` elements of `size` bytes, `stride` bytes apart in the source."""
    for number in range(count):
        bytes_at(target + number * size, size)[:] = bytes_at(source + number * stride, size)


def _start(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        target, source, stride = thread.operands()
        size, count = DTYPES[asked["memory"][0]["element"]].bytes, int(asked["count"])
        thread.block.offset(target, size * count, asked)
        copy = (target, source, count, size, stride * size)
        if (target | source) % (size * count) or stride != 1:
            _copy(*copy)  # no single instruction moves these: they are moved one by one, at once
        else:
            thread.copies.append(copy)


def _commit(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        thread.groups.append(thread.copies)
        thread.copies = []


def _wait(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        done = len(thread.groups) - int(asked["pending"])
        for group in thread.groups[: max(0, done)]:
            for copy in group:
                _copy(*copy)
        del thread.groups[: max(0, done)]


MODELS = {
    "gpu.cp_async_elements": Model(_start),
    "gpu.cp_async_commit": Model(_commit),
    "gpu.cp_async_wait": Model(_wait),
}
