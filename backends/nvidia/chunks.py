"""Which registers of a fragment one instruction can move together: those side by side along an axis."""

from __future__ import annotations

from functools import lru_cache

from tileopt.backends.llvm import types
from tileopt.backends.llvm.values import Fragment
from tileopt.dialects.layout import Layout, pow2_divisor

Chunk = tuple[int, ...]


@lru_cache(maxsize=1024)
def run_length(layout: Layout, axis: int) -> int:
    """Elements, a power of two, side by side along `axis` and aligned to their number, that a thread holds in whichever
    registers; none of a run is a phantom unless all are."""
    length = 1
    limit = pow2_divisor(layout.shape[axis])
    while length < limit and _bit(layout, axis, length) is not None:
        length *= 2
    return length


def _bit(layout: Layout, axis: int, value: int) -> int | None:
    wanted = tuple(value if a == axis else 0 for a in range(len(layout.shape)))
    return next((bit for bit, basis in enumerate(layout.regs) if basis == wanted), None)


@lru_cache(maxsize=1024)
def chunks_of(layout: Layout, axis: int, length: int) -> tuple[Chunk, ...]:
    """All registers in runs of `length` along `axis`, each in the order of its elements."""
    offsets = [0]
    step = 1
    while step < length:
        bit = _bit(layout, axis, step)
        assert bit is not None, "no longer than `run_length`"
        offsets += [offset | 1 << bit for offset in offsets]
        step *= 2
    taken = offsets[-1]
    firsts = [r for r in range(layout.registers) if not r & (1 << len(layout.regs)) - 1 & taken]
    return tuple(tuple(first | offset for offset in offsets) for first in firsts)


def longest(layout: Layout, axis: int | None, element: str, limit: int, most_bytes: int) -> int:
    """Elements that one access may move: at most `limit`, and `most_bytes` bytes."""
    if axis is None:
        return 1
    return max(1, min(run_length(layout, axis), limit, most_bytes // types.bytes_of(element)))


def registers_of(fragment: Fragment) -> tuple[str, ...]:
    """The fragment's registers as scalars (this backend's chunks have a width of 1)."""
    assert fragment.width == 1
    return fragment.chunks
