"""Tests of an access: which of a fragment's registers lie in the tile and in the array.

For an axis that must be tested, the part of the tile inside the array is [low, high) in coordinates of the tile. Both
ends are clamped to the tile (they are the same for the whole block), so each register costs a 32-bit addition and an
unsigned comparison whatever the offset.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileopt.backends.llvm.coords import thread_coord, thread_span
from tileopt.backends.llvm.emitter import Emitter
from tileopt.dialects.layout import Coord, Layout


class Guard:
    """`tested`: axes along which the tile may leave the array; `offsets` and `extents` are those of the access."""

    def __init__(
        self, emitter: Emitter, layout: Layout, offsets: Sequence[str], extents: Sequence[str], tested: Sequence[int]
    ) -> None:
        self.emitter = emitter
        self.layout = layout
        self.offsets = offsets
        self.extents = extents
        self.tested = tuple(tested)
        self._parts: dict[tuple[int, int], str | None] = {}
        self._whole: dict[Coord, str | None] = {}
        self._windows: dict[int, tuple[str, str]] = {}

    def condition(self, at: Coord) -> str | None:
        """An i1: whether the register at `at` exists; None where it always does, "false" where it never does."""
        if at not in self._whole:
            total: str | None = None
            for axis, coordinate in enumerate(at):
                part = self.part(axis, coordinate)
                if part == "false":
                    total = part
                    break
                if part is not None:
                    total = part if total is None else self.emitter.assign(f"and i1 {total}, {part}")
            self._whole[at] = total
        return self._whole[at]

    def part(self, axis: int, coordinate: int) -> str | None:
        key = (axis, coordinate)
        if key not in self._parts:
            self._parts[key] = self._test(axis, coordinate)
        return self._parts[key]

    def _test(self, axis: int, coordinate: int) -> str | None:
        emitter = self.emitter
        if axis not in self.tested or coordinate >= self.layout.shape[axis]:
            return not_phantom(emitter, self.layout, axis, coordinate)
        first, length = self._window(axis)
        at = first if not coordinate else emitter.assign(f"add i32 {first}, {coordinate}")
        return emitter.assign(f"icmp ult i32 {at}, {length}")

    def _window(self, axis: int) -> tuple[str, str]:
        """(thread coordinate - low, high - low): a register at c is inside where first + c is below the second."""
        if axis not in self._windows:
            emitter = self.emitter
            low, high = self.ends(axis)
            first = emitter.assign(f"sub i32 {thread_coord(emitter, self.layout, axis)}, {low}")
            self._windows[axis] = first, emitter.assign(f"sub i32 {high}, {low}")
        return self._windows[axis]

    def ends(self, axis: int) -> tuple[str, str]:
        """The part [low, high) of the tile that is inside the array along an axis, i32 numbers of the whole block."""
        emitter, extent, size = self.emitter, self.extents[axis], self.layout.shape[axis]
        # Beyond these ends nothing is inside, and nothing below can overflow.
        offset = emitter.intrinsic("llvm.smin", 1, "i64", self.offsets[axis], extent)
        offset = emitter.intrinsic("llvm.smax", 1, "i64", offset, str(-size))
        room = emitter.assign(f"sub nsw i64 {extent}, {offset}")
        high = emitter.assign(f"trunc i64 {emitter.intrinsic('llvm.smin', 1, 'i64', room, str(size))} to i32")
        before = emitter.assign(f"sub nsw i64 0, {offset}")
        return emitter.assign(f"trunc i64 {emitter.intrinsic('llvm.smax', 1, 'i64', before, '0')} to i32"), high

    def all_inside(self) -> str | None:
        """An i1, the same in the whole block: the tile lies inside the array along all tested axes; None: nothing is
        tested."""
        emitter = self.emitter
        total: str | None = None
        for axis in self.tested:
            offset, extent, size = self.offsets[axis], self.extents[axis], self.layout.shape[axis]
            # 0 <= offset <= extent - size as one comparison, with nothing that overflows.
            room = emitter.assign(f"sub nsw i64 {extent}, {size}")
            fits = emitter.assign(f"icmp sge i64 {room}, 0")
            inside = emitter.assign(f"icmp ule i64 {offset}, {room}")
            both = emitter.assign(f"and i1 {fits}, {inside}")
            total = both if total is None else emitter.assign(f"and i1 {total}, {both}")
        return total


def not_phantom(emitter: Emitter, layout: Layout, axis: int, coordinate: int) -> str | None:
    """An i1 of the entry section: whether a register at `coordinate` is inside the tile along `axis`; None or "false"
    where that holds in all threads or in none."""
    room = layout.shape[axis] - coordinate
    if room <= 0:
        return "false"
    if thread_span(layout, axis) < room:
        return None
    thread = thread_coord(emitter, layout, axis)
    return emitter.once(("inside", thread, room), lambda: emitter.assign(f"icmp ult i32 {thread}, {room}"))


def both(emitter: Emitter, a: str | None, b: str | None) -> str | None:
    """The conjunction of two conditions, each None where it always holds."""
    if a is None or b is None:
        return a if b is None else b
    return "false" if "false" in (a, b) else emitter.assign(f"and i1 {a}, {b}")
