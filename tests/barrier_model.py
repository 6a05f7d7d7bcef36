"""Shared memory of one block as its asynchronous units see it: who may be reading or writing which bytes, and barriers.

What a unit does takes until somebody has waited for it: a product reads its operands until its group was waited for, a
bulk store its tile until the thread that started it has waited, a bulk load writes from its start until its last piece
was delivered. Whoever touches the bytes in between is at fault, whether or not the data would have been right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from tileopt.dialects import simt
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.verifier import walk

Tile = tuple[str, tuple[int, ...]]  # an array's name, and where a tile of it begins
Made = frozenset[Tile]  # what a value was computed from


class Fault(Exception):
    """The program did what no program may do, or waits for ever."""


@dataclass(eq=False)
class Reading:
    """A unit's reading of a tile, until it is known to be over."""

    what: str
    over: bool = False


@dataclass(eq=False)
class Loaded:
    """Bytes that a bulk load fills. `missing`: pieces that were not delivered."""

    tile: Tile
    missing: int


@dataclass
class Part:
    """What one warp wrote. `flying`: by a copy that it has not waited for; `seen`: units may read it."""

    made: Made
    flying: bool
    seen: bool = False


@dataclass(eq=False)
class Written:
    """Bytes that warps write together, each its part. `op`, `turn`: by which op, when it ran for that time."""

    op: object
    turn: int
    parts: dict[int, Part] = field(default_factory=dict)


@lru_cache(maxsize=64)
def _bytes(type_: BufferType) -> int:
    return type_.shared_layout.size * bit_width(type_.element_type) // 8


@dataclass(frozen=True)
class Buffer:
    """A tile in shared memory: its first byte, its type, and the allocation that it lies in."""

    start: int
    type: BufferType
    ring: range

    @property
    def bytes(self) -> int:
        return _bytes(self.type)

    def slot(self, index: int) -> Buffer:
        start = self.start + index * self.bytes
        if start not in self.ring:
            raise Fault(f"slot {index} lies outside its ring")
        return Buffer(start, self.type, self.ring)


@dataclass
class _Cell:
    """Some bytes that are always touched together."""

    content: Loaded | Written | None = None
    readings: list[Reading] = field(default_factory=list)


class Memory:
    """The block's shared memory. `writers`: the warps that write tiles."""

    def __init__(self, kernel: simt.Kernel, writers: range) -> None:
        self.writers = writers
        cuts: set[int] = set()
        for op in walk(kernel):
            if isinstance(op, simt.AllocShared):
                buffer = self.allocated(op)
                cuts.update(range(buffer.ring.start, buffer.ring.stop + 1, max(1, buffer.bytes)))
        self.starts = sorted(cuts)
        self.found: dict[range, list[_Cell]] = {}
        self.cells = {start: _Cell() for start in self.starts}

    @staticmethod
    def allocated(op: simt.AllocShared) -> Buffer:
        assert op.offset is not None and isinstance(op.result.type, BufferType)
        start, slots = op.offset.value.data, 1 if op.slots is None else op.slots.value.data
        one = Buffer(start, op.result.type, range(0))
        return Buffer(start, op.result.type, range(start, start + slots * one.bytes))

    def of(self, buffer: Buffer) -> list[_Cell]:
        place = range(buffer.start, buffer.start + buffer.bytes)
        if place not in self.found:
            self.found[place] = [self.cells[at] for at in self.starts if at in place]
        return self.found[place]

    def overwrite(self, buffer: Buffer, content: Loaded | Written) -> None:
        for cell in self.of(buffer):
            for reading in cell.readings:
                if not reading.over:
                    raise Fault(f"bytes are overwritten that {reading.what} may be reading")
            if cell.content is not content and isinstance(cell.content, Loaded) and cell.content.missing:
                raise Fault("bytes are overwritten that a bulk load is filling")
            if isinstance(content, Loaded) and isinstance(cell.content, Written):
                if not all(part.seen for part in cell.content.parts.values()):
                    raise Fault("a bulk load may come before what threads wrote there: no proxy fence between")
            cell.readings.clear()
            cell.content = content

    def write(self, buffer: Buffer, op: object, turn: int, warp: int, part: Part) -> None:
        """A warp writes its part of a tile."""
        now = self.of(buffer)[0].content
        together = isinstance(now, Written) and now.op is op and now.turn == turn
        content = now if together and isinstance(now, Written) else Written(op, turn)
        self.overwrite(buffer, content)
        content.parts[warp] = part

    def read(self, buffer: Buffer, *, past_threads: bool) -> Made:
        """What a tile was made from. Raises Fault where a part of it is not there yet."""
        contents = {id(cell.content): cell.content for cell in self.of(buffer)}
        content = next(iter(contents.values()), None)
        if len(contents) != 1 or content is None:
            raise Fault("a tile is read that nobody has written as a whole")
        if isinstance(content, Loaded):
            if content.missing:
                raise Fault("a tile is read before its copy has arrived")
            return frozenset([content.tile])
        for warp in self.writers:
            part = content.parts.get(warp)
            if part is None or part.flying:
                raise Fault("a tile is read before all threads have written it")
            if past_threads and not part.seen:
                raise Fault("a unit reads what threads wrote without a proxy fence and a barrier between")
        return frozenset().union(*(part.made for part in content.parts.values()))

    def begin_reading(self, buffer: Buffer, what: str) -> tuple[Made, Reading]:
        """A unit reads the tile from now on."""
        made, reading = self.read(buffer, past_threads=True), Reading(what)
        for cell in self.of(buffer):
            cell.readings.append(reading)
        return made, reading

    def parts_of(self, warp: int) -> Iterator[Part]:
        for cell in self.cells.values():
            if isinstance(cell.content, Written) and warp in cell.content.parts:
                yield cell.content.parts[warp]


class Mbarrier:
    """A barrier in memory (PTX ISA, "mbarrier"): a phase ends when its arrivals and the bytes announced have come."""

    def __init__(self, count: int) -> None:
        self.count = self.missing = count
        self.phase = self.bytes = 0
        self.known = False  # to the copy engine

    def arrive(self, times: int, expected: int) -> None:
        for _ in range(times):
            if not self.missing:
                raise Fault(f"more than {self.count} threads arrive in one phase")
            self.bytes += expected
            self.missing -= 1
            self.step()

    def delivered(self, count: int, phase: int) -> None:
        if phase != self.phase or count > self.bytes:
            raise Fault("bytes arrive that their phase does not expect")
        self.bytes -= count
        self.step()

    def step(self) -> None:
        if not self.missing and not self.bytes:
            self.phase, self.missing = self.phase + 1, self.count

    def is_over(self, parity: int) -> bool:
        return self.phase % 2 != parity % 2
