"""Elements side by side as machine words: what one load or store moves, and how elements are packed in it.

A chunk of 4 bytes or more is words of 32 bits (64 for 64-bit elements), smaller ones are a word of their own size.
Elements are packed lowest first, as PTX packs operands of `mma` and vectors in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter

CONSTRAINT = {"i16": "h", "i32": "r", "float": "f", "i64": "l", "double": "d"}


@dataclass(frozen=True, slots=True)
class Words:
    """`count` words of the LLVM type `type`, of `bytes` bytes each, with `packed` elements in one."""

    type: str
    bytes: int
    count: int
    packed: int

    @property
    def vector(self) -> str:
        """The LLVM type of all words together."""
        return types.vector(self.count, self.type)

    @property
    def operand(self) -> str:
        """The type of a word as an operand of inline PTX, which knows no 8-bit register."""
        return "i16" if self.type == "i8" else self.type


@lru_cache(maxsize=256)
def words_of(element: str, count: int) -> Words:
    """How `count` (a power of two) elements of a register type travel."""
    size = types.bytes_of(element)
    total = size * count
    if size == 8:
        return Words(element, 8, count, 1)
    if element == "float":
        return Words("float", 4, count, 1)
    if total >= 4:
        return Words("i32", 4, total // 4, 4 // size)
    return Words(f"i{8 * total}", total, 1, count)


def pack(emitter: Emitter, element: str, values: Sequence[str]) -> list[str]:
    """The words of elements that lie side by side."""
    words = words_of(element, len(values))
    if words.type == element:
        return list(values)
    stored = types.memory_type(element)
    if element == "i1":
        values = [_constant_bool(v) or emitter.assign(f"zext i1 {v} to i8") for v in values]
    out: list[str] = []
    for at in range(0, len(values), words.packed):
        part = values[at : at + words.packed]
        if words.packed == 1:
            out.append(
                part[0] if stored == words.type else emitter.assign(f"bitcast {stored} {part[0]} to {words.type}")
            )
            continue
        vector = types.vector(words.packed, stored)
        joined = "poison"
        for lane, value in enumerate(part):
            joined = emitter.assign(f"insertelement {vector} {joined}, {stored} {value}, i32 {lane}")
        out.append(emitter.assign(f"bitcast {vector} {joined} to {words.type}"))
    return out


def unpack(emitter: Emitter, element: str, count: int, packed: Sequence[str]) -> list[str]:
    """The elements in `packed` words."""
    words = words_of(element, count)
    if words.type == element:
        return list(packed)
    stored = types.memory_type(element)
    out: list[str] = []
    for word in packed:
        if words.packed == 1:
            out.append(word if stored == words.type else emitter.assign(f"bitcast {words.type} {word} to {stored}"))
            continue
        vector = types.vector(words.packed, stored)
        joined = emitter.assign(f"bitcast {words.type} {word} to {vector}")
        for lane in range(words.packed):
            out.append(emitter.assign(f"extractelement {vector} {joined}, i32 {lane}"))
    if element == "i1":
        out = [emitter.assign(f"icmp ne i8 {byte}, 0") for byte in out]
    return out


def zero(type_: str) -> str:
    """The constant zero of a word's type."""
    return "0x0000000000000000" if types.is_float(type_) else "0"


def as_operand(emitter: Emitter, words: Words, word: str) -> str:
    """A word as an operand of inline PTX."""
    return word if words.operand == words.type else emitter.assign(f"zext {words.type} {word} to {words.operand}")


def from_operand(emitter: Emitter, words: Words, word: str) -> str:
    return word if words.operand == words.type else emitter.assign(f"trunc {words.operand} {word} to {words.type}")


def _constant_bool(value: str) -> str | None:
    return {"true": "1", "false": "0"}.get(value)
