"""Lanes of a warp: which lane a shuffle reads, masks of lanes, and what needs no exchange."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.backends.llvm.arith import constant_int
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.simt_warp import ActiveMask, Elect, LaneMask, Shuffle, ShuffleKind, WarpReduce


def width_of(op: Shuffle | WarpReduce) -> int:
    """Lanes of each part of the warp that works for itself."""
    return WARP_SIZE if op.width is None else op.width.value.data


def lane_id(emitter: Emitter) -> str:
    """The thread's number in its warp, an i32."""
    return emitter.once("lane", lambda: emitter.assign(f"and i32 {emitter.backend.thread_id(emitter)}, 31"))


def present_lanes(emitter: Emitter) -> str:
    """An i32: the lanes that the warp has, as bits; the last warp of a block may have fewer than 32."""
    rest = emitter.threads % WARP_SIZE
    if not rest:
        return "-1"

    def make() -> str:
        thread = emitter.backend.thread_id(emitter)
        last = emitter.assign(f"icmp uge i32 {thread}, {emitter.threads - rest}")
        return emitter.assign(f"select i1 {last}, i32 {(1 << rest) - 1}, i32 -1")

    return emitter.once("present lanes", make)


def within(emitter: Emitter, lane: str, width: int) -> str:
    """A lane counted within a part."""
    known = constant_int(lane)
    return str(known & (width - 1)) if known is not None else emitter.assign(f"and i32 {lane}, {width - 1}")


def source_lane(emitter: Emitter, op: Shuffle, lane: str, present: str | None) -> str:
    """The lane whose value a shuffle gives to `lane`. `present`: how many lanes the warp has, None for all."""
    width, given = width_of(op), emitter.scalar(op.lane)
    part = "0" if width == WARP_SIZE else emitter.assign(f"and i32 {lane}, {-width}")
    match op.kind.data:
        case ShuffleKind.IDX:
            found = emitter.assign(f"or i32 {part}, {within(emitter, given, width)}")
            test = None
        case ShuffleKind.XOR:
            found = emitter.assign(f"xor i32 {lane}, {within(emitter, given, width)}")
            test = None
        case ShuffleKind.UP:
            found = emitter.assign(f"sub i32 {lane}, {within(emitter, given, WARP_SIZE)}")
            test = emitter.assign(f"icmp sge i32 {found}, {part}")
        case _:
            found = emitter.assign(f"add i32 {lane}, {within(emitter, given, WARP_SIZE)}")
            end = str(WARP_SIZE) if width == WARP_SIZE else emitter.assign(f"add i32 {part}, {width}")
            test = emitter.assign(f"icmp slt i32 {found}, {end}")
    if present is not None:
        there = emitter.assign(f"icmp slt i32 {found}, {present}")
        test = there if test is None else emitter.assign(f"and i1 {test}, {there}")
    return found if test is None else emitter.assign(f"select i1 {test}, i32 {found}, i32 {lane}")


def elect(emitter: Emitter, op: Operation) -> None:
    emitter.values[op.results[0]] = emitter.assign(f"icmp eq i32 {lane_id(emitter)}, 0")


def active_mask(emitter: Emitter, op: Operation) -> None:
    emitter.values[op.results[0]] = present_lanes(emitter)


def lane_mask(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, LaneMask)
    bit = emitter.assign(f"shl i32 1, {lane_id(emitter)}")
    below = emitter.assign(f"sub i32 {bit}, 1")
    match op.kind.data:
        case "eq":
            out = bit
        case "lt":
            out = below
        case "le":
            out = emitter.assign(f"or i32 {bit}, {below}")
        case "ge":
            out = emitter.assign(f"xor i32 {below}, -1")
        case _:
            out = emitter.assign(f"xor i32 {emitter.assign(f'or i32 {bit}, {below}')}, -1")
    emitter.values[op.result] = out


HANDLERS: dict[type[Operation], Handler] = {Elect: elect, ActiveMask: active_mask, LaneMask: lane_mask}
