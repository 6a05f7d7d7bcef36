"""Moving registers of one thread around: broadcast, pick, permute, split and join chunks. No data crosses threads."""

from __future__ import annotations

from collections.abc import Sequence

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter
from tileopt.backends.llvm.values import Fragment

_CONSTANTS = ("true", "false", "poison", "0x")


def is_constant(text: str) -> bool:
    """Whether an operand is a scalar constant."""
    return text.startswith(_CONSTANTS) or text.lstrip("-").isdigit()


def broadcast(emitter: Emitter, element: str, width: int, scalar: str) -> str:
    """A chunk of one scalar."""
    if width == 1:
        return scalar
    if is_constant(scalar):
        return types.splat(width, element, scalar)
    type_ = types.vector(width, element)
    first = emitter.assign(f"insertelement {type_} poison, {element} {scalar}, i64 0")
    return emitter.assign(f"shufflevector {type_} {first}, {type_} poison, <{width} x i32> zeroinitializer")


def scalars(emitter: Emitter, source: Fragment) -> list[str]:
    """The registers one by one."""
    if source.width == 1:
        return list(source.chunks)
    return [extract(emitter, source, r) for r in range(source.registers)]


def extract(emitter: Emitter, source: Fragment, register: int) -> str:
    """One register as a scalar."""
    chunk, lane = divmod(register, source.width)
    if source.width == 1:
        return source.chunks[chunk]
    return emitter.assign(f"extractelement {source.type} {source.chunks[chunk]}, i64 {lane}")


def from_scalars(emitter: Emitter, element: str, texts: Sequence[str], width: int | None = None) -> Fragment:
    """A fragment of scalars, in chunks as the target has them (or of `width`)."""
    width = width or emitter.backend.chunk_width(len(texts))
    if width == 1:
        return Fragment(element, 1, tuple(texts))
    type_ = types.vector(width, element)
    chunks: list[str] = []
    for start in range(0, len(texts), width):
        chunk = "poison"
        for lane, text in enumerate(texts[start : start + width]):
            chunk = emitter.assign(f"insertelement {type_} {chunk}, {element} {text}, i64 {lane}")
        chunks.append(chunk)
    return Fragment(element, width, tuple(chunks))


def pick(emitter: Emitter, source: Fragment, registers: Sequence[int], width: int | None = None) -> Fragment:
    """Register i of the result is register `registers[i]` of the source. `width`: of its chunks."""
    width = width or emitter.backend.chunk_width(len(registers))
    if source.width == 1 or width == 1:
        return from_scalars(emitter, source.element, [extract(emitter, source, r) for r in registers], width)
    chunks = (
        _pick_chunk(emitter, source, registers[start : start + width]) for start in range(0, len(registers), width)
    )
    return Fragment(source.element, width, tuple(chunks))


def _pick_chunk(emitter: Emitter, source: Fragment, registers: Sequence[int]) -> str:
    """One chunk of `registers` of the source: shuffles of two source chunks at a time."""
    width, from_ = len(registers), source.width
    needed = sorted({r // from_ for r in registers})
    if width == from_ and len(needed) == 1 and all(r % from_ == i for i, r in enumerate(registers)):
        return source.chunks[needed[0]]
    out: str | None = None
    for pair in (needed[i : i + 2] for i in range(0, len(needed), 2)):
        place = {chunk: i * from_ for i, chunk in enumerate(pair)}
        mask = [place[r // from_] + r % from_ if r // from_ in place else None for r in registers]
        operands = [source.chunks[chunk] for chunk in pair] + ["poison"] * (2 - len(pair))
        part = shuffle(emitter, source.type, operands[0], operands[1], mask)
        if out is not None:
            blend = [i if m is None else width + i for i, m in enumerate(mask)]
            part = shuffle(emitter, types.vector(width, source.element), out, part, blend)
        out = part
    assert out is not None
    return out


def shuffle(emitter: Emitter, type_: str, a: str, b: str, mask: Sequence[int | None]) -> str:
    """LLVM's shufflevector; None in the mask leaves a lane undefined."""
    lanes = ", ".join("i32 poison" if m is None else f"i32 {m}" for m in mask)
    return emitter.assign(f"shufflevector {type_} {a}, {type_} {b}, <{len(mask)} x i32> <{lanes}>")


def join(emitter: Emitter, element: str, width: int, parts: Sequence[str]) -> str:
    """One vector of several of `width` each, two by two."""
    total, joined = width * len(parts), list(parts)
    while len(joined) > 1:
        type_ = types.vector(width, element)
        if len(joined) % 2:  # lanes that the last mask does not take
            joined.append("poison")
        joined = [
            shuffle(emitter, type_, a, b, range(2 * width)) for a, b in zip(joined[::2], joined[1::2], strict=True)
        ]
        width *= 2
    if width == total:
        return joined[0]
    return shuffle(emitter, types.vector(width, element), joined[0], "poison", range(total))


def add_constants(emitter: Emitter, element: str, scalar: str, offsets: Sequence[int]) -> list[str]:
    """Chunks of `scalar` plus a constant for each register."""
    width = emitter.backend.chunk_width(len(offsets))
    base = broadcast(emitter, element, width, scalar)
    type_ = types.vector(width, element)
    chunks: list[str] = []
    for start in range(0, len(offsets), width):
        part = offsets[start : start + width]
        constant = types.vector_constant(element, [str(c) for c in part])
        if scalar == "0":
            chunks.append(constant)
        elif not any(part):
            chunks.append(base)
        else:
            chunks.append(emitter.assign(f"add {type_} {base}, {constant}"))
    return chunks
