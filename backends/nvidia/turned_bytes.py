"""`ldmatrix` of bytes that lie across the rows of a fragment.

The instruction turns elements of 16 bits, so of bytes it turns pairs: a lane gets, of two steps of K in one word, two
neighbouring rows each. Two such words have four steps of two rows, and two byte permutations (`prmt`) make a word of
each row of them.

The rows of a matrix may lie anywhere, so which steps of K a matrix has is free: here 0, 1, 4, 5, 10, 11, 14, 15 and 2,
3, 6, 7, 8, 9, 12, 13. Under a swizzle of eight rows both meet all banks once; half the lanes get their two words in
the other order.
"""

from __future__ import annotations

from functools import lru_cache

from tileopt.backends.llvm.emitter import Emitter
from tileopt.backends.nvidia.ptx import PURE, Statement
from tileopt.backends.nvidia.shared import shared_address
from tileopt.backends.nvidia.shared_index import SharedAddresses, ThreadMap
from tileopt.backends.nvidia.words import unpack
from tileopt.dialects import gpu, simt
from tileopt.dialects.layout import Coord, Layout

STEPS = (1, 4, 10)  # of K, by the bits of a row's number in its matrix
OTHER_STEPS = 2  # of K, between the two matrices of a word pair
PACKED = 4  # bytes of a word
SWAPPED_LANES = 2  # lanes with this bit get the later steps first
EVEN_ROWS, ODD_ROWS = (0x6420, 0x2064), (0x7531, 0x3175)  # selectors of prmt: steps in order, or swapped


def load(emitter: Emitter, op: gpu.LdMatrix) -> None:
    """Reads the fragment in words, two or four at a time."""
    buffer, element = emitter.buffer(op.source), emitter.element(op.result.type)
    layout = simt.fragment_layout(op.layout, buffer.type.get_shape(), op.result.type)
    k_axis = gpu.word_axis(layout, 8)
    words: list[str] = []
    maps: dict[ThreadMap, SharedAddresses] = {}
    for origin, threads, count in matrices(layout, k_axis):
        if threads not in maps:
            maps[threads] = SharedAddresses(emitter, buffer, threads)
        pointer, constant = maps[threads].at(origin)
        statement = Statement()
        results = [statement.output("i32") for _ in range(count)]
        address = statement.word("i32", shared_address(emitter, pointer))
        text = f"ldmatrix.sync.aligned.m8n8.x{count}.trans.shared.b16 {{{', '.join(results)}}}, [{address}+{constant}];"
        loaded = statement.emit(emitter, text, "convergent", effects=True)
        for at in range(0, count, 2):
            words += [_merged(emitter, loaded[at], loaded[at + 1], rows) for rows in (EVEN_ROWS, ODD_ROWS)]
    emitter.define(op.result, unpack(emitter, element, PACKED * len(words), words))


@lru_cache(maxsize=256)
def matrices(layout: Layout, k_axis: int) -> tuple[tuple[Coord, ThreadMap, int], ...]:
    """For each instruction: where its first matrix begins, how the bits of a lane and a warp move the address that the
    lane gives, and how many matrices it reads."""

    def along(step: int) -> Coord:
        return (step, 0) if k_axis == 0 else (0, step)

    rows = tuple(along(step) for step in STEPS)
    origins = layout.register_coords[:: 2 * PACKED]  # of pairs of words
    found: list[tuple[Coord, ThreadMap, int]] = []
    at = 0
    while at < len(origins):
        first = origins[at]
        step: Coord = (0, 0)
        if at + 1 < len(origins):
            step = tuple(b ^ a for a, b in zip(first, origins[at + 1], strict=True))
        together = any(step) and all(not a & s for a, s in zip(first, step, strict=True))
        moves = (*rows, along(OTHER_STEPS), step if together else (0, 0), *layout.warps)
        found.append((first, moves, 4 if together else 2))
        at += 2 if together else 1
    return tuple(found)


def _merged(emitter: Emitter, first: str, second: str, selectors: tuple[int, int]) -> str:
    """Four steps of one row out of two words."""

    def selector() -> str:
        thread = emitter.backend.thread_id(emitter)
        bit = emitter.assign(f"and i32 {thread}, {SWAPPED_LANES}")
        plain = emitter.assign(f"icmp eq i32 {bit}, 0")
        return emitter.assign(f"select i1 {plain}, i32 {selectors[0]}, i32 {selectors[1]}")

    statement = Statement()
    result = statement.output("i32")
    words = [statement.word("i32", word) for word in (first, second)]
    chosen = statement.word("i32", emitter.once(("turned bytes", selectors), selector))
    return statement.emit(emitter, f"prmt.b32 {result}, {', '.join(words)}, {chosen};", PURE)[0]
