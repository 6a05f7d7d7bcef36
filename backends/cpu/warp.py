"""What lanes make of each other's scalars on the CPU, once those of a warp stand side by side in memory.

A lane that the block does not have (the last warp may have fewer than 32) takes no part.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation

from tileopt.backends.cpu.frame import CpuEmitter
from tileopt.backends.llvm import types
from tileopt.backends.llvm.arith import F32, native
from tileopt.backends.llvm.emitter import Emitter
from tileopt.backends.llvm.fragment import combiner
from tileopt.backends.llvm.lane import source_lane, width_of
from tileopt.backends.llvm.registers import broadcast, shuffle
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.simt_warp import Match, MatchKind, Shuffle, Vote, VoteKind, WarpReduce


def outcome(emitter: Emitter, op: Operation, lanes: str) -> str:
    """The result in this lane. `lanes`: pointer to the values of its warp, lane by lane."""
    return _OUTCOMES[type(op)](emitter, op, lanes)


def _thread(emitter: Emitter) -> str:
    assert isinstance(emitter, CpuEmitter)
    return emitter.tid


def _lane(emitter: Emitter) -> str:
    return emitter.assign(f"and i32 {_thread(emitter)}, {WARP_SIZE - 1}")


def _present(emitter: Emitter) -> str | None:
    """An i32: how many lanes this warp has from its first on; None where all have 32."""
    if emitter.threads % WARP_SIZE == 0:
        return None
    first = emitter.assign(f"and i32 {_thread(emitter)}, {-WARP_SIZE}")
    return emitter.assign(f"sub i32 {emitter.threads}, {first}")


def _load(emitter: Emitter, type_: Attribute, width: int, lanes: str) -> str:
    """`width` values from memory; bools as i1."""
    element = types.llvm_type(type_)
    memory = types.vector(width, types.memory_type(element))
    loaded = emitter.assign(f"load {memory}, ptr {lanes}, align {types.bytes_of(element)}")
    if element != "i1":
        return loaded
    return emitter.assign(f"icmp ne {memory} {loaded}, {types.splat(width, 'i8', '0')}")


def _shuffle(emitter: Emitter, op: Operation, lanes: str) -> str:
    assert isinstance(op, Shuffle)
    source = source_lane(emitter, op, _lane(emitter), _present(emitter))
    memory = types.memory_type(emitter.element(op.value.type))
    return _load(emitter, op.value.type, 1, emitter.assign(f"getelementptr {memory}, ptr {lanes}, i32 {source}"))


def _mask(emitter: Emitter, bits: str) -> tuple[str, str]:
    """The bits of the lanes that are there, and those of them in `bits` (<32 x i1>)."""
    word = emitter.assign(f"bitcast <32 x i1> {bits} to i32")
    present = _present(emitter)
    if present is None:
        return "-1", word
    short = emitter.assign(f"icmp ult i32 {present}, 32")
    shift = emitter.assign(f"and i32 {present}, 31")
    low = emitter.assign(f"sub i32 {emitter.assign(f'shl i32 1, {shift}')}, 1")
    whole = emitter.assign(f"select i1 {short}, i32 {low}, i32 -1")
    return whole, emitter.assign(f"and i32 {word}, {whole}")


def _vote(emitter: Emitter, op: Operation, lanes: str) -> str:
    assert isinstance(op, Vote)
    whole, held = _mask(emitter, _load(emitter, op.condition.type, WARP_SIZE, lanes))
    match op.kind.data:
        case VoteKind.BALLOT:
            return held
        case VoteKind.ANY:
            return emitter.assign(f"icmp ne i32 {held}, 0")
        case _:
            return emitter.assign(f"icmp eq i32 {held}, {whole}")


def _match(emitter: Emitter, op: Operation, lanes: str) -> str:
    assert isinstance(op, Match)
    integer = f"i{types.BITS[emitter.element(op.value.type)]}"
    vector, size = types.vector(WARP_SIZE, integer), types.BITS[integer] // 8
    values = emitter.assign(f"load {vector}, ptr {lanes}, align {size}")
    here = emitter.assign(f"getelementptr {integer}, ptr {lanes}, i32 {_lane(emitter)}")
    mine = broadcast(emitter, integer, WARP_SIZE, emitter.assign(f"load {integer}, ptr {here}, align {size}"))
    whole, equal = _mask(emitter, emitter.assign(f"icmp eq {vector} {values}, {mine}"))
    if op.kind.data == MatchKind.ANY:
        return equal
    return emitter.assign(f"select i1 {emitter.assign(f'icmp eq i32 {equal}, {whole}')}, i32 {whole}, i32 0")


def _reduce(emitter: Emitter, op: Operation, lanes: str) -> str:
    assert isinstance(op, WarpReduce)
    type_, width, present = op.value.type, width_of(op), _present(emitter)
    element = types.llvm_type(type_)
    if width < WARP_SIZE:
        part = emitter.assign(f"and i32 {_lane(emitter)}, {-width}")
        lanes = emitter.assign(f"getelementptr {types.memory_type(element)}, ptr {lanes}, i32 {part}")
        present = None if present is None else emitter.assign(f"sub i32 {present}, {part}")
    combine = _combine(emitter, op)
    value = _load(emitter, type_, width, lanes)
    while width > 1:
        from_, half = types.vector(width, element), width // 2
        if half == 1:
            low, high = (emitter.assign(f"extractelement {from_} {value}, i32 {i}") for i in range(2))
        else:
            low = shuffle(emitter, from_, value, "poison", range(half))
            high = shuffle(emitter, from_, value, "poison", range(half, width))
        value = combine(low, high, half)
        if present is not None:
            numbers = types.vector_constant("i32", [str(half + i) for i in range(half)])
            index = types.vector(half, "i32")
            there = emitter.assign(f"icmp ult {index} {numbers}, {broadcast(emitter, 'i32', half, present)}")
            type_text, bools = types.vector(half, element), types.vector(half, "i1")
            value = emitter.assign(f"select {bools} {there}, {type_text} {value}, {type_text} {low}")
        width = half
    return value


def _combine(emitter: Emitter, op: WarpReduce) -> Callable[[str, str, int], str]:
    type_ = op.value.type
    if isinstance(type_, IntegerType) or native(emitter, type_):
        return combiner(emitter, op.kind.data, type_, contract=False)
    wide, backend = combiner(emitter, op.kind.data, F32), emitter.backend

    def through_f32(a: str, b: str, width: int) -> str:
        low, high = (backend.extend(emitter, x, width, type_, F32) for x in (a, b))
        return backend.truncate(emitter, wide(low, high, width), width, F32, type_)

    return through_f32


_OUTCOMES: dict[type[Operation], Callable[[Emitter, Operation, str], str]] = {
    Shuffle: _shuffle,
    Vote: _vote,
    Match: _match,
    WarpReduce: _reduce,
}
