"""Rows whose start is aligned or not as the program runs: an access finds out, and moves words or single elements.

Where the tile's first element is aligned, runs of `length` elements move as one. Runs that the array's ends cut move
element by element: they are in few rows of registers, which ones is the same for all threads, and the other rows
branch around that. Where the first element is not aligned, every element moves alone. Nothing outside is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tileopt.backends.llvm.coords import thread_coord, thread_span, writer
from tileopt.backends.llvm.emitter import Emitter
from tileopt.backends.llvm.values import View
from tileopt.backends.nvidia.chunks import registers_of
from tileopt.backends.nvidia.guards import Guard, both
from tileopt.backends.nvidia.memory import (
    GLOBAL,
    Addresses,
    access_chunks,
    load_words,
    padding_words,
    store_words,
    tested_axes,
)
from tileopt.backends.nvidia.words import pack, unpack, words_of
from tileopt.dialects import simt
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.layout import Coord, Layout


class _Runs:
    """The runs of one access along its unit axis, which parts of them exist, and where they are."""

    def __init__(
        self,
        emitter: Emitter,
        op: simt.FragmentLoad | simt.FragmentStore,
        layout: Layout,
        view: View,
        addresses: Addresses,
        length: int,
    ) -> None:
        assert view.unit_axis is not None
        self.emitter, self.layout, self.length, self.axis = emitter, layout, length, view.unit_axis
        offsets = [emitter.scalar(v) for v in op.offsets]
        tested = [axis for axis in tested_axes(op.bounds, len(layout.shape)) if axis != self.axis]
        guard = Guard(emitter, layout, offsets, view.extents, tested)
        self.chunks = access_chunks(layout, view, length)
        self.coords = [layout.register_coords[chunk[0]] for chunk in self.chunks]
        # All of it in front of any branch: both ways use it.
        self.places = [addresses.at(at) for at in self.coords]
        self.size = addresses.bytes
        self.low, self.high = guard.ends(self.axis)
        self.thread = emitter.assign(f"sub i32 {thread_coord(emitter, layout, self.axis)}, {self.low}")
        self.room = emitter.assign(f"sub i32 {self.high}, {self.low}")
        self.rest = [self._rest(guard, at) for at in self.coords]
        address = emitter.assign(f"ptrtoint {GLOBAL} {addresses.first} to i64")
        beyond = emitter.assign(f"and i64 {address}, {length * self.size - 1}")
        self.aligned = emitter.assign(f"icmp eq i64 {beyond}, 0")

    def _rest(self, guard: Guard, at: Coord) -> str | None:
        """Whether a run exists along the other axes; a single row may be outside as a whole."""
        total: str | None = None
        for axis, coordinate in enumerate(at):
            if axis != self.axis:
                total = both(self.emitter, total, guard.part(axis, coordinate))
        return total

    def inside(self, number: int, first: int, last: int) -> str:
        """Whether elements `first` to `last` of a run are inside the array. The run's start is compared with numbers of
        the whole block: an index of each element would stay in a register for all accesses of the kernel."""
        emitter, coordinate = self.emitter, self.coords[number][self.axis]
        start = emitter.assign(f"add i32 {self.thread}, {coordinate}") if coordinate else self.thread
        above = emitter.assign(f"icmp sge i32 {start}, {-first}")
        ends = emitter.assign(f"sub i32 {self.room}, {last}") if last else self.room
        below = emitter.assign(f"icmp slt i32 {start}, {ends}")
        return emitter.assign(f"and i1 {above}, {below}")

    def cut(self, number: int) -> str:
        """Whether an end of the array may cut a run of some thread: it is in this row of registers, and inside a run.
        The same in all threads."""
        emitter, total = self.emitter, "false"
        first, span = self.coords[number][self.axis], thread_span(self.layout, self.axis) + self.length
        for end in (self.low, self.high):
            distance = emitter.assign(f"sub i32 {end}, {first}")
            near = emitter.assign(f"icmp ult i32 {distance}, {span}")
            within = emitter.assign(f"and i32 {end}, {self.length - 1}")
            ragged = emitter.assign(f"icmp ne i32 {within}, 0")
            here = emitter.assign(f"and i1 {near}, {ragged}")
            total = here if total == "false" else emitter.assign(f"or i1 {total}, {here}")
        return total

    def element_place(self, number: int, element: int) -> tuple[str, int]:
        pointer, constant = self.places[number]
        return pointer, constant + element * self.size

    def two_ways(self, together: Callable[[], list[str]], apart: Callable[[], list[str]], type_: str) -> list[str]:
        """What one of the two gives, by the alignment."""
        return choose(self.emitter, self.aligned, together, apart, type_)


def choose(
    emitter: Emitter, condition: str, yes: Callable[[], list[str]], no: Callable[[], list[str]], type_: str
) -> list[str]:
    """The values of one of two ways, which a condition decides."""
    if_so, if_not, end = emitter.label("so"), emitter.label("not"), emitter.label("end")
    emitter.branch_if(condition, if_so, if_not)
    emitter.start(if_so)
    first, from_first = yes(), emitter.block
    emitter.branch(end)
    emitter.start(if_not)
    second, from_second = no(), emitter.block
    emitter.branch(end)
    emitter.start(end)
    rows = zip(first, second, strict=True)
    return [emitter.assign(f"phi {type_} [ {a}, %{from_first} ], [ {b}, %{from_second} ]") for a, b in rows]


def load_phased(
    emitter: Emitter, op: simt.FragmentLoad, layout: Layout, view: View, addresses: Addresses, length: int
) -> list[str]:
    """The registers of a load."""
    element, read_only = emitter.element(op.result.type), not view.type.owned
    words, one = words_of(element, length), words_of(element, 1)
    type_, cache = element_type(op.result.type), None if op.cache is None else op.cache.data
    fill, fill_one = (padding_words(emitter, op.padding, type_, n) for n in (length, 1))
    runs = _Runs(emitter, op, layout, view, addresses, length)

    def single(number: int, at: int, condition: str | None, otherwise: Sequence[str]) -> str:
        pointer, constant = runs.element_place(number, at)
        condition = both(emitter, condition, runs.inside(number, at, at))
        got = load_words(emitter, one.type, 1, pointer, constant, condition, otherwise, read_only, cache)
        return unpack(emitter, element, 1, got)[0]

    def together() -> list[str]:
        out: list[str] = []
        for number, (pointer, constant) in enumerate(runs.places):
            if runs.rest[number] == "false":
                out += fill
                continue
            whole = runs.inside(number, 0, length - 1)
            condition = both(emitter, whole, runs.rest[number])
            got = load_words(emitter, words.type, words.count, pointer, constant, condition, fill, read_only, cache)

            def patched(number: int = number, whole: str = whole, got: list[str] = got) -> list[str]:
                parted = both(emitter, emitter.assign(f"xor i1 {whole}, true"), runs.rest[number])
                held = unpack(emitter, element, length, got)
                singles = [single(number, at, parted, pack(emitter, element, [held[at]])) for at in range(length)]
                return pack(emitter, element, singles)

            out += choose(emitter, runs.cut(number), patched, lambda got=got: got, words.type)  # type: ignore[misc]
        return out

    def apart() -> list[str]:
        out: list[str] = []
        for number in range(len(runs.chunks)):
            if runs.rest[number] == "false":
                out += fill
                continue
            out += pack(emitter, element, [single(number, at, runs.rest[number], fill_one) for at in range(length)])
        return out

    loaded = runs.two_ways(together, apart, words.type)
    registers = [""] * layout.registers
    for number, chunk in enumerate(runs.chunks):
        part = loaded[number * words.count : (number + 1) * words.count]
        for register, value in zip(chunk, unpack(emitter, element, length, part), strict=True):
            registers[register] = value
    return registers


def store_phased(
    emitter: Emitter, op: simt.FragmentStore, layout: Layout, view: View, addresses: Addresses, length: int
) -> None:
    """Writes a fragment."""
    element, values = emitter.element(op.value.type), registers_of(emitter.fragment(op.value))
    words, one = words_of(element, length), words_of(element, 1)
    replica, cache = writer(emitter, layout), None if op.cache is None else op.cache.data
    runs = _Runs(emitter, op, layout, view, addresses, length)
    held = [[values[r] for r in chunk] for chunk in runs.chunks]
    packed = [pack(emitter, element, part) for part in held]
    alone = [[pack(emitter, element, [value]) for value in part] for part in held]
    may = [both(emitter, rest, replica) for rest in runs.rest]

    def single(number: int, at: int, condition: str | None) -> None:
        pointer, constant = runs.element_place(number, at)
        condition = both(emitter, condition, runs.inside(number, at, at))
        store_words(emitter, one.type, alone[number][at], pointer, constant, condition, cache)

    def together() -> list[str]:
        for number, (pointer, constant) in enumerate(runs.places):
            if may[number] == "false":
                continue
            whole = runs.inside(number, 0, length - 1)
            condition = both(emitter, whole, may[number])
            store_words(emitter, words.type, packed[number], pointer, constant, condition, cache)

            def patched(number: int = number, whole: str = whole) -> list[str]:
                parted = both(emitter, emitter.assign(f"xor i1 {whole}, true"), may[number])
                for at in range(length):
                    single(number, at, parted)
                return []

            choose(emitter, runs.cut(number), patched, list, words.type)
        return []

    def apart() -> list[str]:
        for number in range(len(runs.chunks)):
            if may[number] != "false":
                for at in range(length):
                    single(number, at, may[number])
        return []

    runs.two_ways(together, apart, words.type)
