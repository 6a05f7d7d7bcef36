"""Where a thread's elements lie: thread coordinates, register coordinates, phantoms and replicas of a layout.

An element's coordinate is the thread's (run time, computed once a kernel) plus the register's (a constant).
"""

from __future__ import annotations

from functools import lru_cache

from tileopt.backends.llvm.emitter import Emitter
from tileopt.dialects.layout import Coord, Layout


@lru_cache(maxsize=1024)
def thread_bits(layout: Layout, axis: int) -> tuple[tuple[int, int], ...]:
    """(bit of the thread id, value) of each bit that moves the thread along `axis`, by value."""
    bases = (*layout.lanes, *layout.warps)
    return tuple(sorted(((bit, b[axis]) for bit, b in enumerate(bases) if b[axis]), key=lambda item: item[1]))


def thread_span(layout: Layout, axis: int) -> int:
    """The largest thread coordinate along `axis`."""
    return sum(value for _, value in thread_bits(layout, axis))


def thread_coord(emitter: Emitter, layout: Layout, axis: int) -> str:
    """The thread's coordinate along `axis` as an i32 of the entry section."""
    bits = thread_bits(layout, axis)
    if not bits:
        return "0"

    def make() -> str:
        total: str | None = None
        for start, count, value in _runs(bits):
            part = emitter.backend.thread_id(emitter)
            if start:
                part = emitter.assign(f"lshr i32 {part}, {start}")
            part = emitter.assign(f"and i32 {part}, {(1 << count) - 1}")
            if value > 1:
                part = emitter.assign(f"shl nuw nsw i32 {part}, {value.bit_length() - 1}")
            total = part if total is None else emitter.assign(f"or disjoint i32 {total}, {part}")
        assert total is not None
        return total

    return emitter.once(("coord", bits), make)


def _runs(bits: tuple[tuple[int, int], ...]) -> list[tuple[int, int, int]]:
    """Neighbouring bits of rising value as (first bit, count, value of the first)."""
    out: list[tuple[int, int, int]] = []
    for bit, value in bits:
        if out and out[-1][0] + out[-1][1] == bit and out[-1][2] << out[-1][1] == value:
            out[-1] = (out[-1][0], out[-1][1] + 1, out[-1][2])
        else:
            out.append((bit, 1, value))
    return out


def thread_coord_i64(emitter: Emitter, layout: Layout, axis: int) -> str:
    """`thread_coord` as an i64."""
    narrow = thread_coord(emitter, layout, axis)
    if narrow == "0":
        return "0"
    return emitter.once(("wide", narrow), lambda: emitter.assign(f"zext nneg i32 {narrow} to i64"))


@lru_cache(maxsize=1024)
def phantom_axes(layout: Layout) -> tuple[int, ...]:
    """Axes along which some thread's registers are phantoms."""
    return tuple(axis for axis, (p, n) in enumerate(zip(layout.padded, layout.shape, strict=True)) if p != n)


def is_phantom(layout: Layout, at: Coord) -> bool | None:
    """Whether the registers at `at` are phantoms in all threads, in none, or (None) in some."""
    some = False
    for axis in phantom_axes(layout):
        if at[axis] >= layout.shape[axis]:
            return True
        some = some or at[axis] + thread_span(layout, axis) >= layout.shape[axis]
    return None if some else False


def writer(emitter: Emitter, layout: Layout) -> str | None:
    """An i1 of the entry section: whether this thread writes, of the replicas that hold the same; None where all do.

    Threads beyond those of the layout hold replicas, too.
    """
    mask = layout.replica_lanes | layout.replica_warps << len(layout.lanes)
    threads = layout.threads
    while threads < emitter.workers:
        mask |= threads
        threads *= 2
    if not mask:
        return None

    def make() -> str:
        bits = emitter.assign(f"and i32 {emitter.backend.thread_id(emitter)}, {mask}")
        return emitter.assign(f"icmp eq i32 {bits}, 0")

    return emitter.once(("writer", mask), make)
