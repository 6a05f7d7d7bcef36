"""Lanes of a warp exchanging scalars: shuffles, votes, matches and reductions."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.arith import F32, native
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.fragment import combiner
from tileopt.backends.llvm.lane import present_lanes, width_of, within
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.simt_warp import Match, MatchKind, Shuffle, ShuffleKind, SyncWarp, Vote, VoteKind, WarpReduce
from tileopt.dialects.target import Target

_MODES = {ShuffleKind.IDX: "idx", ShuffleKind.UP: "up", ShuffleKind.DOWN: "down", ShuffleKind.XOR: "bfly"}
_REDUX = {
    "sum": "add",
    "max": "max",
    "min": "min",
    "umax": "umax",
    "umin": "umin",
    "and": "and",
    "or": "or",
    "xor": "xor",
}


def by_words(emitter: Emitter, element: str, value: str, move: Callable[[str], str]) -> str:
    """A register of any element type through `move`, which takes and gives an i32."""
    bits = types.BITS[element]
    integer = f"i{bits}"
    raw = value if element == integer else emitter.assign(f"bitcast {element} {value} to {integer}")
    if bits < 32:
        moved = move(emitter.assign(f"zext {integer} {raw} to i32"))
        out = emitter.assign(f"trunc i32 {moved} to {integer}")
    elif bits == 32:
        out = move(raw)
    else:
        low = move(emitter.assign(f"trunc i64 {raw} to i32"))
        high = move(emitter.assign(f"trunc i64 {emitter.assign(f'lshr i64 {raw}, 32')} to i32"))
        wide = emitter.assign(f"shl i64 {emitter.assign(f'zext i32 {high} to i64')}, 32")
        out = emitter.assign(f"or disjoint i64 {wide}, {emitter.assign(f'zext i32 {low} to i64')}")
    return out if element == integer else emitter.assign(f"bitcast {integer} {out} to {element}")


def exchange(emitter: Emitter, element: str, value: str, kind: str, lane: str, width: int) -> str:
    """The value of another lane: what `ShuffleKind` says."""
    mode = _MODES[ShuffleKind(kind)]
    callee = emitter.declare(f"i32 @llvm.nvvm.shfl.sync.{mode}.i32(i32, i32, i32, i32)")
    # The parts of the warp, and the last lane (for `up` the first) of a part that may be read.
    clamp = (WARP_SIZE - width) << 8 | (0 if mode == "up" else WARP_SIZE - 1)
    mask = present_lanes(emitter)

    def move(word: str) -> str:
        return emitter.assign(f"call i32 {callee}(i32 {mask}, i32 {word}, i32 {lane}, i32 {clamp})")

    return by_words(emitter, element, value, move)


def shuffle(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Shuffle)
    kind, width = ShuffleKind(op.kind.data), width_of(op)
    lane = within(emitter, emitter.scalar(op.lane), width if kind is ShuffleKind.XOR else WARP_SIZE)
    element, value = emitter.element(op.value.type), emitter.scalar(op.value)
    moved = exchange(emitter, element, value, kind, lane, width)
    if emitter.threads % WARP_SIZE:
        # What a lane that is not there has is undefined.
        moved = emitter.assign(
            f"select i1 {_is_there(emitter, kind, lane, width)}, {element} {moved}, {element} {value}"
        )
    emitter.values[op.result] = moved


def _is_there(emitter: Emitter, kind: ShuffleKind, lane: str, width: int) -> str:
    """Whether the block has the lane that a shuffle reads."""
    thread = emitter.backend.thread_id(emitter)
    match kind:
        case ShuffleKind.UP:
            return "true"
        case ShuffleKind.DOWN:
            source = emitter.assign(f"add i32 {thread}, {lane}")
        case ShuffleKind.XOR:
            source = emitter.assign(f"xor i32 {thread}, {lane}")
        case _:
            part = emitter.assign(f"and i32 {thread}, {-width}")
            source = emitter.assign(f"or i32 {part}, {within(emitter, lane, width)}")
    return emitter.assign(f"icmp ult i32 {source}, {emitter.threads}")


def vote(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Vote)
    kind = VoteKind(op.kind.data)
    type_ = "i32" if kind is VoteKind.BALLOT else "i1"
    callee = emitter.declare(f"{type_} @llvm.nvvm.vote.{kind}.sync(i32, i1)")
    mask, condition = present_lanes(emitter), emitter.scalar(op.condition)
    emitter.values[op.result] = emitter.assign(f"call {type_} {callee}(i32 {mask}, i1 {condition})")


def match_(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Match)
    element, value = emitter.element(op.value.type), emitter.scalar(op.value)
    integer, mask = f"i{types.BITS[element]}", present_lanes(emitter)
    if element != integer:
        value = emitter.assign(f"bitcast {element} {value} to {integer}")
    if op.kind.data == MatchKind.ANY:
        callee = emitter.declare(f"i32 @llvm.nvvm.match.any.sync.{integer}(i32, {integer})")
        emitter.values[op.result] = emitter.assign(f"call i32 {callee}(i32 {mask}, {integer} {value})")
        return
    callee = emitter.declare(f"{{ i32, i1 }} @llvm.nvvm.match.all.sync.{integer}p(i32, {integer})")
    pair = emitter.assign(f"call {{ i32, i1 }} {callee}(i32 {mask}, {integer} {value})")
    emitter.values[op.result] = emitter.assign(f"extractvalue {{ i32, i1 }} {pair}, 0")


def _has_instruction(emitter: Emitter, op: WarpReduce) -> bool:
    """Whether the GPU reduces a warp's integers at once."""
    target = getattr(emitter.backend, "target", None)
    return (
        isinstance(target, Target)
        and target.arch >= 80
        and width_of(op) == WARP_SIZE
        and types.llvm_type(op.value.type) == "i32"
        and op.kind.data in _REDUX
    )


def reduce(emitter: Emitter, op: Operation) -> None:
    """By halves: each lane with the one that differs in a bit, from the highest down."""
    assert isinstance(op, WarpReduce)
    if _has_instruction(emitter, op):
        callee = emitter.declare(f"i32 @llvm.nvvm.redux.sync.{_REDUX[op.kind.data]}(i32, i32)")
        word = emitter.scalar(op.value)
        emitter.values[op.result] = emitter.assign(f"call i32 {callee}(i32 {word}, i32 {present_lanes(emitter)})")
        return
    type_, width = op.value.type, width_of(op)
    element, value = emitter.element(type_), emitter.scalar(op.value)
    inner = type_ if isinstance(type_, IntegerType) or native(emitter, type_) else F32
    # Unfused: a lane that fused its own product would have another sum than its partner.
    combine = combiner(emitter, op.kind.data, inner, contract=False)
    whole = emitter.threads % WARP_SIZE == 0
    step = width // 2
    while step:
        other = exchange(emitter, element, value, "xor", str(step), width)
        combined = combine(value, other, 1)
        if not whole:
            there = _is_there(emitter, ShuffleKind.XOR, str(step), width)
            combined = emitter.assign(f"select i1 {there}, {element} {combined}, {element} {value}")
        value, step = combined, step // 2
    if not whole and width > 1:
        # Only the first lane of a part has met all others.
        value = exchange(emitter, element, value, "idx", "0", width)
    emitter.values[op.result] = value


def sync_warp(emitter: Emitter, op: Operation) -> None:
    callee = emitter.declare("void @llvm.nvvm.bar.warp.sync(i32)")
    emitter.line(f"call void {callee}(i32 {present_lanes(emitter)})")


HANDLERS: dict[type[Operation], Handler] = {
    Shuffle: shuffle,
    Vote: vote,
    Match: match_,
    WarpReduce: reduce,
    SyncWarp: sync_warp,
}
