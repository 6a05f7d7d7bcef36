"""Where a fragment lies in an array: addresses of its registers and masks of those that may be touched.

A register's element index is `offset + thread coordinate + register constant` on each axis, in i64. A mask compares in
i32: on each axis the elements of the tile that are inside the array are those from `low` on, `room` of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.ir import Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.coords import phantom_axes, thread_coord, thread_coord_i64
from tileopt.backends.llvm.emitter import Emitter
from tileopt.backends.llvm.registers import broadcast
from tileopt.backends.llvm.values import View
from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.layout import Layout


@dataclass(frozen=True, slots=True)
class Window:
    """The elements of an axis that exist: a register with constant `c` has one iff `c + shifted <u room`."""

    shifted: str
    room: str


@lru_cache(maxsize=1024)
def run_length(layout: Layout, axis: int | None, width: int) -> int:
    """The largest power of two that divides `width` such that aligned groups of so many registers lie side by side on
    `axis` (the array's unit axis; None: 1)."""
    if axis is None:
        return 1
    coords, run = layout.register_coords, width & -width
    while run > 1:
        if all(_is_run(coords[start : start + run], axis) for start in range(0, len(coords), run)):
            return run
        run //= 2
    return 1


def _is_run(coords: Sequence[tuple[int, ...]], axis: int) -> bool:
    first = coords[0]
    return all(at == (*first[:axis], first[axis] + i, *first[axis + 1 :]) for i, at in enumerate(coords))


def register_mask(emitter: Emitter, layout: Layout, windows: dict[int, Window], start: int, width: int) -> str | None:
    """The mask of registers `start` to `start + width` as a chunk of i1; None where nothing needs a test."""
    bools = types.vector(width, "i1")
    coords = layout.register_coords[start : start + width]
    total: str | None = None
    for axis, window in windows.items():
        constants = [at[axis] for at in coords]
        if len(set(constants)) == 1:
            index = window.shifted
            if constants[0]:
                index = emitter.assign(f"add i32 {index}, {constants[0]}")
            test = broadcast(emitter, "i1", width, emitter.assign(f"icmp ult i32 {index}, {window.room}"))
        else:
            vector = types.vector(width, "i32")
            each = types.vector_constant("i32", [str(c) for c in constants])
            index = broadcast(emitter, "i32", width, window.shifted)
            index = emitter.assign(f"add {vector} {index}, {each}")
            room = broadcast(emitter, "i32", width, window.room)
            test = emitter.assign(f"icmp ult {vector} {index}, {room}")
        total = test if total is None else emitter.assign(f"and {bools} {total}, {test}")
    return total


def phantom_windows(emitter: Emitter, layout: Layout) -> dict[int, Window]:
    """The windows that leave out phantoms alone."""
    return {axis: Window(thread_coord(emitter, layout, axis), str(layout.shape[axis])) for axis in phantom_axes(layout)}


class Access:
    """One `fragment_load` or `fragment_store`, or any op that touches a tile of an array by a layout."""

    def __init__(
        self, emitter: Emitter, view: View, offsets: Sequence[str], layout: Layout, bounds: BoundsAttr | None
    ) -> None:
        self.emitter = emitter
        self.view = view
        self.offsets = offsets
        self.layout = layout
        self.outcome = Outcome.MASKED if bounds is None else bounds.outcome
        rank = len(layout.shape)
        self.checked_axes = tuple(range(rank)) if bounds is None else bounds.axes
        if self.outcome in (Outcome.PROVED, Outcome.LAUNCH):
            self.checked_axes = ()
        self.memory = types.memory_type(emitter.element(view.type.element_type))
        self._scaled: dict[tuple[int, int], str] = {}

    # --- addresses -------------------------------------------------------------------------------------------------

    def thread_pointer(self) -> str:
        """Pointer to the element that a register with constant 0 would hold."""
        emitter, terms = self.emitter, list[str]()
        for axis, (offset, stride) in enumerate(zip(self.offsets, self.view.strides, strict=True)):
            thread = thread_coord_i64(emitter, self.layout, axis)
            index = offset
            if thread != "0":
                index = thread if offset == "0" else emitter.assign(f"add i64 {offset}, {thread}")
            if index == "0":
                continue
            terms.append(index if stride == "1" else emitter.assign(f"mul i64 {index}, {stride}"))
        return self.step(self.view.pointer, self._sum(terms))

    def step(self, pointer: str, elements: str) -> str:
        """`pointer` moved by a number of elements."""
        if elements == "0":
            return pointer
        space = self.emitter.backend.global_pointer
        return self.emitter.assign(f"getelementptr {self.memory}, {space} {pointer}, i64 {elements}")

    def register_offset(self, register: int) -> str:
        """Elements from the thread's pointer to a register's element, an i64."""
        at = self.layout.register_coords[register]
        constant, terms = 0, list[str]()
        for axis, (c, stride) in enumerate(zip(at, self.view.strides, strict=True)):
            if c and stride == "1":
                constant += c
            elif c:
                terms.append(self._times(axis, c, stride))
        if constant:
            terms.append(str(constant))
        return self._sum(terms)

    def _times(self, axis: int, c: int, stride: str) -> str:
        if c == 1:
            return stride
        if (axis, c) not in self._scaled:
            self._scaled[axis, c] = self.emitter.assign(f"mul i64 {stride}, {c}")
        return self._scaled[axis, c]

    def _sum(self, terms: Sequence[str]) -> str:
        total = terms[0] if terms else "0"
        for term in terms[1:]:
            total = self.emitter.assign(f"add i64 {total}, {term}")
        return total

    # --- masks -----------------------------------------------------------------------------------------------------

    def windows(self, checked: Sequence[int]) -> dict[int, Window]:
        """The window of each axis that needs one: those in `checked`, and those with phantoms."""
        out = phantom_windows(self.emitter, self.layout)
        for axis in checked:
            thread = thread_coord(self.emitter, self.layout, axis)
            extents = self.view.extents[axis], self.layout.shape[axis]
            out[axis] = self._window(thread, self.offsets[axis], *extents)
        return out

    def _window(self, thread: str, offset: str, array: str, extent: int) -> Window:
        emitter = self.emitter
        # Below -extent no element of the tile is inside, and the sums could overflow.
        offset = emitter.intrinsic("llvm.smax", 1, "i64", offset, str(-extent))
        below = emitter.assign(f"sub i64 0, {offset}")
        low = emitter.intrinsic("llvm.smax", 1, "i64", below, "0")
        above = emitter.assign(f"sub i64 {array}, {offset}")
        end = emitter.intrinsic("llvm.smin", 1, "i64", above, str(extent))
        room = emitter.intrinsic("llvm.smax", 1, "i64", emitter.assign(f"sub i64 {end}, {low}"), "0")
        narrow_low = emitter.assign(f"trunc i64 {low} to i32")
        narrow_room = emitter.assign(f"trunc i64 {room} to i32")
        return Window(emitter.assign(f"sub i32 {thread}, {narrow_low}"), narrow_room)

    def all_inside(self) -> str:
        """An i1, the same in all threads of a block: whether the whole tile is inside on the checked axes."""
        emitter = self.emitter
        total: str | None = None
        for axis in self.checked_axes:
            offset, extent = self.offsets[axis], self.layout.shape[axis]
            # The array's extent is below 2**62, so that neither side overflows once the offset is not negative.
            room = emitter.assign(f"sub i64 {self.view.extents[axis]}, {offset}")
            fits = emitter.assign(f"icmp sge i64 {room}, {extent}")
            above = emitter.assign(f"icmp sge i64 {offset}, 0")
            test = emitter.assign(f"and i1 {fits}, {above}")
            total = test if total is None else emitter.assign(f"and i1 {total}, {test}")
        return "true" if total is None else total


def operand_texts(emitter: Emitter, op: Operation, first: int) -> list[str]:
    """The scalar operands of an op from the one of index `first` on."""
    return [emitter.scalar(value) for value in op.operands[first:]]
