"""Where a thread's elements lie in a buffer in shared memory: one address a thread, constants for its registers.

A layout moves a thread by one coordinate vector for each bit of its id (a `ThreadMap`). Three ways, by the buffer:

- power-of-two strides: the byte offset is a XOR of a thread's and a register's part, swizzle or not. The thread's part
  is computed once a kernel; bits of the register's part that the thread's never has are an instruction's constant, the
  others a XOR with one of few values;
- no swizzle: the parts add up;
- a swizzle over other strides: each register swizzles its own sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter
from tileopt.backends.llvm.query import buffer_bytes
from tileopt.backends.llvm.shared import swizzled
from tileopt.backends.llvm.values import Buffer
from tileopt.backends.nvidia.chunks import run_length
from tileopt.dialects.layout import Coord, Layout, SharedLayout, pow2_divisor

SHARED = "ptr addrspace(3)"
ALIGN = 16  # bytes that divide the start of every buffer whose size they divide

ThreadMap = tuple[Coord, ...]  # for each bit of the thread's id the coordinates by which it moves


@dataclass(frozen=True)
class IndexMap:
    """The address arithmetic of one buffer layout under one thread map, in bytes; pure numbers, no code."""

    shared: SharedLayout
    threads: ThreadMap
    size: int  # bytes of an element

    @cached_property
    def is_linear(self) -> bool:
        """Whether offsets are XORs of parts: each coordinate bit is then a bit of the index of its own."""
        steps = (*self.shared.strides, self.shared.panel_stride if self.shared.panels > 1 else 1)
        return not self.shared.pad and all(s & (s - 1) == 0 for s in steps)

    @cached_property
    def thread_parts(self) -> tuple[int, ...]:
        """What each bit of the thread id contributes: by XOR where `is_linear`, else added before the swizzle."""
        return tuple(self.part(at) for at in self.threads)

    def part(self, at: Coord) -> int:
        """The contribution of a coordinate vector."""
        shared = self.shared
        if self.is_linear:
            return shared.index(at) * self.size
        total = sum(c * s for c, s in zip(at, shared.strides, strict=True))
        if shared.panels > 1:  # the bits of parts are apart, so the panels of parts add up, too
            total += at[shared.order[-1]] // shared.panel * (shared.panel_stride - shared.panel)
        return total * self.size

    @cached_property
    def thread_mask(self) -> int:
        """Bits that some thread's part has (`is_linear`)."""
        mask = 0
        for part in self.thread_parts:
            mask |= part
        return mask

    def split(self, at: Coord) -> tuple[int, int]:
        """(flip, constant) of a register (`is_linear`): the address is `(thread ^ flip) + constant`."""
        part = self.part(at)
        return part & self.thread_mask, part & ~self.thread_mask

    def offset(self, thread: int, at: Coord) -> int:
        """Bytes from the buffer's start of the element at `at` relative to a thread: what the emitted code computes."""
        parts = [p for bit, p in enumerate(self.thread_parts) if thread >> bit & 1]
        if self.is_linear:
            base = 0
            for part in parts:
                base ^= part
            flip, constant = self.split(at)
            return (base ^ flip) + constant
        linear = (sum(parts) + self.part(at)) // self.size
        swizzle = linear >> self.shared.shift & ((1 << self.shared.bits) - 1) << self.shared.base
        return (linear ^ swizzle) * self.size


@lru_cache(maxsize=512)
def index_map(shared: SharedLayout, threads: ThreadMap, size: int) -> IndexMap:
    return IndexMap(shared, threads, size)


def thread_map(layout: Layout) -> ThreadMap:
    """How a layout moves a thread by the bits of its id."""
    return (*layout.lanes, *layout.warps)


class SharedAddresses:
    """Pointers to elements of a buffer for the threads of a map."""

    def __init__(self, emitter: Emitter, buffer: Buffer, threads: ThreadMap) -> None:
        self.emitter = emitter
        self.buffer = buffer
        self.size = types.bytes_of(emitter.element(buffer.type.element_type))
        self.map = index_map(buffer.type.shared_layout, threads, self.size)
        self._bases: dict[int, str] = {}

    def at(self, coord: Coord) -> tuple[str, int]:
        """(pointer, constant bytes to add) of the element at `coord` relative to the thread."""
        if self.map.is_linear:
            flip, constant = self.map.split(coord)
            return self._base(flip), constant
        if not self.map.shared.bits:
            return self._base(0), self.map.part(coord)
        return self._swizzled(coord), 0

    def _base(self, flip: int) -> str:
        if flip not in self._bases:
            emitter = self.emitter
            thread = emitter.once(("shared offset", self.map, flip), lambda: self._thread(flip))
            self._bases[flip] = self._step(thread)
        return self._bases[flip]

    def _step(self, offset: str) -> str:
        if offset == "0":
            return self.buffer.pointer
        return self.emitter.assign(f"getelementptr i8, {SHARED} {self.buffer.pointer}, i32 {offset}")

    def _thread(self, flip: int) -> str:
        """The thread's byte offset (before a swizzle, where the map is not linear) with some bits flipped."""
        total = self.emitter.once(("shared offset", self.map, 0), self._unflipped) if flip else self._unflipped()
        return self.emitter.assign(f"xor i32 {total}, {flip}") if flip else total

    def _unflipped(self) -> str:
        parts = self.map.thread_parts
        source = self.emitter.backend.thread_id(self.emitter)
        return (xor_terms if self.map.is_linear else sum_terms)(self.emitter, source, parts)

    def _swizzled(self, coord: Coord) -> str:
        emitter, constant = self.emitter, self.map.part(coord)

        def make() -> str:
            thread = emitter.once(("shared offset", self.map, 0), self._unflipped)
            linear = emitter.assign(f"add i32 {thread}, {constant}")
            element = emitter.assign(f"lshr exact i32 {linear}, {self.size.bit_length() - 1}")
            index = swizzled(emitter, self.map.shared, element)
            return emitter.assign(f"shl i32 {index}, {self.size.bit_length() - 1}")

        return self._step(emitter.once(("shared swizzled", self.map, constant), make))


def xor_terms(emitter: Emitter, source: str, parts: Sequence[int]) -> str:
    """XOR of the parts of the set bits of an i32 (a thread's id): bits that move by the same distance go together."""
    masks: dict[int, int] = {}  # distance from a bit of the id to the bit that it flips -> bits of the id
    for bit, part in enumerate(parts):
        for target in range(part.bit_length()):
            if part >> target & 1:
                masks[target - bit] = masks.get(target - bit, 0) | 1 << bit
    total = "0"
    for distance, mask in sorted(masks.items()):
        term = emitter.assign(f"and i32 {source}, {mask}")
        if distance:
            term = emitter.assign(f"{'shl' if distance > 0 else 'lshr'} i32 {term}, {abs(distance)}")
        total = term if total == "0" else emitter.assign(f"xor i32 {total}, {term}")
    return total


def sum_terms(emitter: Emitter, source: str, parts: Sequence[int]) -> str:
    """Sum of the parts of the set bits of an i32: runs of bits with doubling parts are one product."""
    total = "0"
    bit = 0
    while bit < len(parts):
        count = 1
        while bit + count < len(parts) and parts[bit + count] == parts[bit] << count:
            count += 1
        if parts[bit]:
            term = source
            if bit:
                term = emitter.assign(f"lshr i32 {term}, {bit}")
            term = emitter.assign(f"and i32 {term}, {(1 << count) - 1}")
            term = emitter.assign(f"mul i32 {term}, {parts[bit]}")
            total = term if total == "0" else emitter.assign(f"add i32 {total}, {term}")
        bit += count
    return total


def buffer_align(buffer: Buffer) -> int:
    """Bytes that divide the start of a buffer, wherever in a ring it stands."""
    return min(ALIGN, pow2_divisor(buffer_bytes(buffer.type)))


def together(shared: SharedLayout) -> int:
    """Elements of a row, aligned to their number, that neither a swizzle nor the end of a panel parts."""
    most = 1 << shared.base if shared.bits else 1 << 30
    return min(most, shared.panel) if shared.panels > 1 else most


def shared_run(buffer: Buffer, layout: Layout, size: int) -> int:
    """Elements that one access may move: side by side in the buffer, and aligned together."""
    shared = buffer.type.shared_layout
    if not shared.shape:
        return 1
    fast = shared.order[-1]
    run = min(run_length(layout, fast), max(1, buffer_align(buffer) // size))
    run = min(run, together(shared))
    for axis, stride in enumerate(shared.strides):
        if axis != fast and shared.shape[axis] > 1:
            run = min(run, pow2_divisor(stride))
    return run
