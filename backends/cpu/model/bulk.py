"""Bulk tensor copies (TMA): made a round after they were started, and counted at the barrier then."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from tileopt.backends.cpu.model.barriers import barrier_at
from tileopt.backends.cpu.model.machine import Model
from tileopt.backends.cpu.model.state import Block, Description, Thread, Transfer
from tileopt.backends.cpu.reference.barriers import MemoryBarrier
from tileopt.backends.cpu.reference.boxes import load_box, store_box
from tileopt.backends.cpu.reference.shared_operands import layout_of
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.tensor_map import parted_axis

if TYPE_CHECKING:
    import numpy as np

    from tileopt.dialects.layout import SharedLayout

    Array = np.ndarray[Any, Any]


class _Copy:
    """A request taken apart: the array, the offsets in it, the tile with its layout, and what follows."""

    def __init__(self, thread: Thread, asked: Description) -> None:
        import numpy as np

        memories = asked["memory"]
        buffer = next(m for m in memories if "layout" in m)
        size, rank = DTYPES[buffer["element"]].bytes, len(buffer["shape"])
        start, *rest = thread.operands()
        extents, strides = rest[:rank], rest[rank : 2 * rank]
        self.offsets = rest[2 * rank : 3 * rank]
        self.rest = rest[3 * rank :]
        self.layout: SharedLayout = layout_of(buffer["shape"], buffer["layout"])
        self.bytes = size * int(np.prod(buffer["shape"]))
        kind = np.dtype(f"u{size}")
        self.tile = thread.block.part(self.rest[0], size * self.layout.size, asked).view(kind)
        span = sum((n - 1) * s for n, s in zip(extents, strides, strict=True)) + 1 if min(extents) > 0 else 0
        memory: Any = (ctypes.c_uint8 * (span * size)).from_address(start) if span else b""
        flat: Array = np.frombuffer(memory, kind) if span else np.zeros(0, kind)
        self.array = np.lib.stride_tricks.as_strided(flat, extents, [s * size for s in strides], writeable=True)


def _begin(block: Block, copy: Any) -> Transfer:
    transfer = Transfer(copy)
    block.transfers.append(transfer)
    return transfer


def _load(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        _begin_load(thread.block, _Copy(thread, asked), asked)


def _begin_load(block: Block, copy: _Copy, asked: Description) -> None:
    parts = int(asked.get("parts") or 1)
    if parts > 1 and parts != len(block.cluster):
        raise asked.error("rank", f"{asked.op} in {parts} parts by a cluster of {len(block.cluster)} blocks")
    axis = None if parts == 1 else parted_axis(copy.layout, parts)
    for other in block.cluster if parts > 1 else [block]:
        away = other.base - block.base
        barrier = barrier_at(other, copy.rest[1] + away, asked)
        tile = other.part(copy.rest[0] + away, copy.tile.nbytes, asked).view(copy.tile.dtype)

        def make(tile: Array = tile, barrier: MemoryBarrier = barrier) -> None:
            load_box(copy.array, copy.offsets, tile, copy.layout, axis, parts, block.rank)
            barrier.complete(copy.bytes // parts)

        _begin(other, make)


def _store(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        copy = _Copy(thread, asked)
        thread.bulk.append(_begin(thread.block, _stored(copy)))


def _stored(copy: _Copy) -> Any:
    return lambda: store_box(copy.array, copy.offsets, copy.tile, copy.layout)


def _commit(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        thread.bulk_groups.append(thread.bulk)
        thread.bulk = []


def _wait(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        done = max(0, len(thread.bulk_groups) - int(asked["pending"]))
        for group in thread.bulk_groups[:done]:
            for transfer in group:
                transfer.run()
        del thread.bulk_groups[:done]


MODELS = {
    "gpu.tma_load": Model(_load),
    "gpu.tma_store": Model(_store),
    "gpu.tma_commit": Model(_commit),
    "gpu.tma_wait": Model(_wait),
}
