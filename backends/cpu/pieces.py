"""A fragment's memory as pieces that one CPU instruction moves: runs side by side, or gathers where there are none.

Shared by accesses to arrays and to shared memory; both say where a register lies and which registers are masked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter
from tileopt.backends.llvm.registers import join, shuffle

# Integers of the same width: which float vectors LLVM masks differs between CPUs.
_AS_INTEGER = {"half": "i16", "bfloat": "i16", "i1": "i8"}

Mask = Callable[[int], str | None]  # first register of a chunk -> the chunk's mask, None: all


def moved_type(element: str) -> str:
    """The type in which elements move from and to memory."""
    return _AS_INTEGER.get(element, element)


def from_memory(emitter: Emitter, chunk: str, width: int, element: str) -> str:
    """A chunk in registers of what was read."""
    memory = moved_type(element)
    if element == memory:
        return chunk
    from_ = types.vector(width, memory)
    if element == "i1":
        return emitter.assign(f"icmp ne {from_} {chunk}, {types.splat(width, memory, '0')}")
    return emitter.assign(f"bitcast {from_} {chunk} to {types.vector(width, element)}")


def to_memory(emitter: Emitter, chunk: str, width: int, element: str) -> str:
    """A chunk as it is written."""
    memory = moved_type(element)
    if element == memory:
        return chunk
    word = "zext" if element == "i1" else "bitcast"
    return emitter.assign(f"{word} {types.vector(width, element)} {chunk} to {types.vector(width, memory)}")


@dataclass
class Pieces:
    """How the chunks of one access move. `run`: registers side by side in memory, a divisor of `width`.

    `pointer(r)`: the element of register r. `pointers(start)`: the vector of a chunk's pointers, for gathers.
    """

    emitter: Emitter
    memory: str
    width: int
    run: int
    align: int
    pointer: Callable[[int], str]
    pointers: Callable[[int], str]

    @property
    def chunk_type(self) -> str:
        return types.vector(self.width, self.memory)

    def load(self, start: int, mask: str | None, padding: str) -> str:
        """The chunk from register `start` on; registers that the mask leaves out are `padding` (a constant)."""
        if self.run == 1 and self.width > 1:
            return self._gather(start, mask, padding)
        if mask is None:
            type_ = types.vector(self.run, self.memory)
            starts = range(start, start + self.width, self.run)
            return self._join(
                [self.emitter.assign(f"load {type_}, ptr {self.pointer(r)}, align {self.align}") for r in starts]
            )
        if self.width == 1:
            return self._load_if(start, mask, padding)
        return self._join([self._load_masked(r, self._part(mask, "i1", r - start), padding) for r in self._runs(start)])

    def store(self, start: int, mask: str | None, chunk: str) -> None:
        """Writes the chunk whose first register is `start`."""
        emitter, type_ = self.emitter, types.vector(self.run, self.memory)
        if self.run == 1 and self.width > 1:
            self._scatter(start, mask, chunk)
        elif mask is None:
            for register in self._runs(start):
                part = self._part(chunk, self.memory, register - start)
                emitter.line(f"store {type_} {part}, ptr {self.pointer(register)}, align {self.align}")
        elif self.width == 1:
            inside, end = emitter.label("store"), emitter.label("end")
            emitter.branch_if(mask, inside, end)
            emitter.start(inside)
            emitter.line(f"store {self.memory} {chunk}, ptr {self.pointer(start)}, align {self.align}")
            emitter.branch(end)
            emitter.start(end)
        else:
            bools = types.vector(self.run, "i1")
            callee = emitter.declare(
                f"void @llvm.masked.store.{types.mangled(self.run, self.memory)}.p0({type_}, ptr, {bools})"
            )
            for register in self._runs(start):
                part, taken = (self._part(v, e, register - start) for v, e in ((chunk, self.memory), (mask, "i1")))
                pointer = self.pointer(register)
                emitter.line(f"call void {callee}({type_} {part}, ptr align {self.align} {pointer}, {bools} {taken})")

    def _runs(self, start: int) -> range:
        return range(start, start + self.width, self.run)

    def _load_masked(self, register: int, mask: str, padding: str) -> str:
        type_, bools = types.vector(self.run, self.memory), types.vector(self.run, "i1")
        name = f"@llvm.masked.load.{types.mangled(self.run, self.memory)}.p0"
        callee = self.emitter.declare(f"{type_} {name}(ptr, {bools}, {type_})")
        fill, pointer = types.splat(self.run, self.memory, padding), self.pointer(register)
        return self.emitter.assign(
            f"call {type_} {callee}(ptr align {self.align} {pointer}, {bools} {mask}, {type_} {fill})"
        )

    def _load_if(self, register: int, mask: str, padding: str) -> str:
        emitter = self.emitter
        inside, end, before = emitter.label("load"), emitter.label("end"), emitter.block
        emitter.branch_if(mask, inside, end)
        emitter.start(inside)
        value = emitter.assign(f"load {self.memory}, ptr {self.pointer(register)}, align {self.align}")
        emitter.branch(end)
        emitter.start(end)
        return emitter.assign(f"phi {self.memory} [ {value}, %{inside} ], [ {padding}, %{before} ]")

    def _gather(self, start: int, mask: str | None, padding: str) -> str:
        type_, bools, pointers = self.chunk_type, types.vector(self.width, "i1"), f"<{self.width} x ptr>"
        name = f"@llvm.masked.gather.{types.mangled(self.width, self.memory)}.v{self.width}p0"
        callee = self.emitter.declare(f"{type_} {name}({pointers}, {bools}, {type_})")
        taken = types.splat(self.width, "i1", "true") if mask is None else mask
        fill = types.splat(self.width, self.memory, padding)
        at = f"{pointers} align {self.align} {self.pointers(start)}"
        return self.emitter.assign(f"call {type_} {callee}({at}, {bools} {taken}, {type_} {fill})")

    def _scatter(self, start: int, mask: str | None, chunk: str) -> None:
        type_, bools, pointers = self.chunk_type, types.vector(self.width, "i1"), f"<{self.width} x ptr>"
        name = f"@llvm.masked.scatter.{types.mangled(self.width, self.memory)}.v{self.width}p0"
        callee = self.emitter.declare(f"void {name}({type_}, {pointers}, {bools})")
        taken = types.splat(self.width, "i1", "true") if mask is None else mask
        at = f"{pointers} align {self.align} {self.pointers(start)}"
        self.emitter.line(f"call void {callee}({type_} {chunk}, {at}, {bools} {taken})")

    def _part(self, chunk: str, element: str, at: int) -> str:
        """The lanes of one run."""
        if self.run == self.width:
            return chunk
        return shuffle(self.emitter, types.vector(self.width, element), chunk, "poison", range(at, at + self.run))

    def _join(self, parts: list[str]) -> str:
        return join(self.emitter, self.memory, self.run, parts)


def pointer_vector(emitter: Emitter, memory: str, base: str, offsets: list[str]) -> str:
    """A vector of pointers at i64 element offsets from one."""
    width = len(offsets)
    type_ = types.vector(width, "i64")
    if all(offset.lstrip("-").isdigit() for offset in offsets):
        index = types.vector_constant("i64", offsets)
    else:
        index = "poison"
        for lane, offset in enumerate(offsets):
            index = emitter.assign(f"insertelement {type_} {index}, i64 {offset}, i64 {lane}")
    return emitter.assign(f"getelementptr {memory}, ptr {base}, {type_} {index}")
