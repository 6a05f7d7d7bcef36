"""Threads that meet: each thread of a block is an LLVM coroutine, a barrier or a shuffle is a suspend point.

`@name.thread` is the coroutine; `@name.blocks` starts the threads of a block and resumes them in turn until all have
ended. A barrier is passed when every thread that has not ended waits at one. A shuffle needs one suspension: a lane
writes its value to the exchange area, suspends, and reads that of its partner once the other lanes of its warp have
written theirs; the area has two halves that take turns, so the next shuffle cannot overwrite what is still to be read.
Where a kernel has both, warps are run one at a time until all their lanes are at a barrier.

Frames lie in one area that the first thread allocates, once for all blocks of a call.
"""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation

from tileopt.backends.cpu import warp
from tileopt.backends.cpu.frame import (
    GRID,
    Argument,
    CpuEmitter,
    blocks_function,
    fault_lines,
    symbol,
    unless_stopped,
)
from tileopt.backends.cpu.uniform import EXCHANGES
from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.values import Fragment
from tileopt.dialects import simt
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.simt import Kernel
from tileopt.dialects.simt_warp import Match, Shuffle, SyncWarp, Vote, WarpReduce

_LINE = 64  # an exchange slot starts at a cache line, which is also the widest vector's alignment


def _has(kernel: Kernel, kind: type[Operation] | tuple[type[Operation], ...]) -> bool:
    return any(isinstance(op, kind) for op in kernel.body.walk())


def suspend(emitter: Emitter) -> None:
    """The thread stops here until it is resumed."""
    state = emitter.call("i8", "llvm.coro.suspend", ("token", "none"), ("i1", "false"))
    resumed = emitter.label("resume")
    emitter.line(f"switch i8 {state}, label %coro.suspend [ i8 0, label %{resumed} i8 1, label %coro.cleanup ]")
    emitter.start(resumed)


def barrier(emitter: Emitter, op: Operation) -> None:
    if _mixed(emitter.kernel):
        emitter.line("store i8 1, ptr %waits, align 1")
    suspend(emitter)


def _mixed(kernel: Kernel) -> bool:
    return _has(kernel, simt.Barrier) and _has(kernel, (SyncWarp, *EXCHANGES))


def exchange_bytes(kernel: Kernel) -> int:
    """Bytes of one thread's slot in each half of the exchange area."""
    size = 0
    for op in kernel.body.walk():
        if isinstance(op, EXCHANGES):
            type_ = op.operands[0].type
            count = type_.get_shape()[0] if isinstance(type_, VectorType) else 1
            size = max(size, count * types.bytes_of(types.llvm_type(type_)))
    return -(-size // _LINE) * _LINE


def shuffle_xor(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.ShuffleXor)
    element, width = emitter.element(op.source.type), emitter.width_of(op.source.type)
    chunks = emitter.chunks(op.source)
    slot = exchange_bytes(emitter.kernel)
    half = emitter.assign("load i64, ptr %half, align 8")
    base = emitter.assign(f"getelementptr i8, ptr %exchange, i64 {half}")
    mine = emitter.assign(f"mul nuw nsw i32 %tid, {slot}")
    theirs = emitter.assign(f"mul nuw nsw i32 {emitter.assign(f'xor i32 %tid, {op.mask.value.data}')}, {slot}")
    # Bools go as bytes: what LLVM makes of <n x i1> in memory is packed.
    type_, memory = types.vector(width, element), types.memory_type(element)
    moved, size = types.vector(width, memory), width * types.bytes_of(element)
    align = min(_LINE, size & -size)
    here = emitter.assign(f"getelementptr i8, ptr {base}, i32 {mine}")
    for number, chunk in enumerate(chunks):
        if memory != element:
            chunk = emitter.assign(f"zext {type_} {chunk} to {moved}")
        pointer = emitter.assign(f"getelementptr i8, ptr {here}, i64 {number * size}")
        emitter.line(f"store {moved} {chunk}, ptr {pointer}, align {align}")
    suspend(emitter)
    there = emitter.assign(f"getelementptr i8, ptr {base}, i32 {theirs}")
    out: list[str] = []
    for number in range(len(chunks)):
        pointer = emitter.assign(f"getelementptr i8, ptr {there}, i64 {number * size}")
        value = emitter.assign(f"load {moved}, ptr {pointer}, align {align}")
        if memory != element:
            value = emitter.assign(f"icmp ne {moved} {value}, {types.splat(width, memory, '0')}")
        out.append(value)
    other = emitter.assign(f"sub nuw nsw i64 {half_bytes(emitter)}, {half}")
    emitter.line(f"store i64 {other}, ptr %half, align 8")
    if isinstance(op.result.type, VectorType):
        emitter.values[op.result] = Fragment(element, width, tuple(out))
    else:
        (emitter.values[op.result],) = out


def exchange(emitter: Emitter, op: Operation) -> None:
    """Lanes read each other's scalars: those of a warp stand side by side in the warp's part of the area."""
    value, slot = op.operands[0], exchange_bytes(emitter.kernel)
    element = emitter.element(value.type)
    memory, text = types.memory_type(element), emitter.scalar(value)
    half = emitter.assign("load i64, ptr %half, align 8")
    base = emitter.assign(f"getelementptr i8, ptr %exchange, i64 {half}")
    first = emitter.assign(f"mul nuw nsw i32 {emitter.assign(f'and i32 %tid, {-WARP_SIZE}')}, {slot}")
    lane = emitter.assign(f"and i32 %tid, {WARP_SIZE - 1}")
    lanes = emitter.assign(f"getelementptr i8, ptr {base}, i32 {first}")
    here = emitter.assign(f"getelementptr {memory}, ptr {lanes}, i32 {lane}")
    if memory != element:
        text = emitter.assign(f"zext {element} {text} to {memory}")
    emitter.line(f"store {memory} {text}, ptr {here}, align {types.bytes_of(element)}")
    suspend(emitter)
    emitter.values[op.results[0]] = warp.outcome(emitter, op, lanes)
    other = emitter.assign(f"sub nuw nsw i64 {half_bytes(emitter)}, {half}")
    emitter.line(f"store i64 {other}, ptr %half, align 8")


def sync_warp(emitter: Emitter, op: Operation) -> None:
    suspend(emitter)


def half_bytes(emitter: Emitter) -> int:
    """Bytes of each half of a block's exchange area."""
    return exchange_bytes(emitter.kernel) * (-(-emitter.threads // WARP_SIZE) * WARP_SIZE)


HANDLERS: dict[type[Operation], Handler] = {
    simt.Barrier: barrier,
    simt.ShuffleXor: shuffle_xor,
    Shuffle: exchange,
    Vote: exchange,
    Match: exchange,
    WarpReduce: exchange,
    SyncWarp: sync_warp,
}


# --- the functions around the body ---------------------------------------------------------------------------------

_THREAD = """define internal ptr @{thread}({parameters}) presplitcoroutine nounwind {{
entry:
  %half = alloca i64, align 8
  %waits = getelementptr i8, ptr %waiting, i32 %tid
  %id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)
  %area.old = load ptr, ptr %frames, align 8
  %stride.at = getelementptr i64, ptr %frames, i64 1
  %first.thread = icmp eq ptr %area.old, null
  br i1 %first.thread, label %allocate, label %begin
allocate:
  %size = call i64 @llvm.coro.size.i64()
  %align.frame = call i64 @llvm.coro.align.i64()
  %align = call i64 @llvm.umax.i64(i64 %align.frame, i64 64)
  %last.byte = sub i64 %align, 1
  %keep = sub i64 0, %align
  %padded = add i64 %size, %last.byte
  %stride.new = and i64 %padded, %keep
  %all = mul i64 %stride.new, {threads}
  %bytes = add i64 %all, %align
  %raw = call ptr @malloc(i64 %bytes)
  %raw.at = getelementptr i64, ptr %frames, i64 2
  store ptr %raw, ptr %raw.at, align 8
  %raw.number = ptrtoint ptr %raw to i64
  %raw.up = add i64 %raw.number, %last.byte
  %area.number = and i64 %raw.up, %keep
  %area.skip = sub i64 %area.number, %raw.number
  %area.new = getelementptr i8, ptr %raw, i64 %area.skip
  store ptr %area.new, ptr %frames, align 8
  store i64 %stride.new, ptr %stride.at, align 8
  br label %begin
begin:
  %area = phi ptr [ %area.old, %entry ], [ %area.new, %allocate ]
  %stride = load i64, ptr %stride.at, align 8
  %tid.wide = zext i32 %tid to i64
  %frame.at = mul i64 %stride, %tid.wide
  %frame = getelementptr i8, ptr %area, i64 %frame.at
  %handle = call ptr @llvm.coro.begin(token %id, ptr %frame)
  br label %thread
thread:
  store i64 0, ptr %half, align 8
{entry}
  br label %body
body:
{body}
  br label %thread.end
{fault}
thread.end:
{end}
  %end.state = call i8 @llvm.coro.suspend(token none, i1 true)
  switch i8 %end.state, label %coro.suspend [ i8 0, label %coro.never i8 1, label %coro.cleanup ]
coro.never:
  unreachable
coro.cleanup:
  br label %coro.suspend
coro.suspend:
  call void @llvm.coro.end(ptr %handle, i1 false, token none)
  ret ptr %handle
}}"""

DECLARATIONS = (
    "token @llvm.coro.id(i32, ptr, ptr, ptr)",
    "i64 @llvm.coro.size.i64()",
    "i64 @llvm.coro.align.i64()",
    "ptr @llvm.coro.begin(token, ptr)",
    "i8 @llvm.coro.suspend(token, i1)",
    "void @llvm.coro.end(ptr, i1, token)",
    "void @llvm.coro.resume(ptr)",
    "i1 @llvm.coro.done(ptr)",
    "i64 @llvm.umax.i64(i64, i64)",
    "void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "noalias ptr @malloc(i64)",
    "void @free(ptr)",
)

_START = """{at_block}
  br label %start
start:
  %tid = phi i32 [ 0, %block.start ], [ %tid.next, %start ]
  %started = call ptr @{thread}({passed})
  %tid.next = add nuw nsw i32 %tid, 1
  %tid.more = icmp ult i32 %tid.next, {threads}
  br i1 %tid.more, label %start, label %rounds
rounds:
  %area = load ptr, ptr %frames, align 8
  %stride.at = getelementptr i64, ptr %frames, i64 1
  %stride = load i64, ptr %stride.at, align 8
"""

# Every suspension is a barrier, or every one a shuffle: all threads go on in each round.
_ROUNDS = """  br label %again
round:
  %t = phi i64 [ %t.next, %next ], [ 0, %again ]
  %live = phi i1 [ %live.next, %next ], [ false, %again ]
  %at = mul i64 %t, %stride
  %handle = getelementptr i8, ptr %area, i64 %at
  %done = call i1 @llvm.coro.done(ptr %handle)
  br i1 %done, label %next, label %resume
resume:
  call void @llvm.coro.resume(ptr %handle)
  br label %next
next:
  %live.next = phi i1 [ %live, %round ], [ true, %resume ]
  %t.next = add nuw nsw i64 %t, 1
  %t.more = icmp ult i64 %t.next, {threads}
  br i1 %t.more, label %round, label %round.end
round.end:
  br i1 %live.next, label %again, label %block.end
again:
{opening}
{again}"""

# Each warp goes on until all its lanes wait at a barrier or have ended; then the barrier opens for all.
_WARPS = """  br label %gather
gather:
  br label %warp
warp:
  %w = phi i64 [ 0, %gather ], [ %w.next, %warp.end ]
  %t.end.full = add nuw nsw i64 %w, 32
  %t.end = call i64 @llvm.umin.i64(i64 %t.end.full, i64 {threads})
  br label %again
round:
  br label %lane
lane:
  %t = phi i64 [ %w, %round ], [ %t.next, %next ]
  %live = phi i1 [ false, %round ], [ %live.next, %next ]
  %at = mul i64 %t, %stride
  %handle = getelementptr i8, ptr %area, i64 %at
  %done = call i1 @llvm.coro.done(ptr %handle)
  %wait.at = getelementptr i8, ptr %waiting, i64 %t
  %wait = load i8, ptr %wait.at, align 1
  %waits = icmp ne i8 %wait, 0
  %rests = or i1 %done, %waits
  br i1 %rests, label %next, label %resume
resume:
  call void @llvm.coro.resume(ptr %handle)
  br label %next
next:
  %live.next = phi i1 [ %live, %lane ], [ true, %resume ]
  %t.next = add nuw nsw i64 %t, 1
  %t.more = icmp ult i64 %t.next, %t.end
  br i1 %t.more, label %lane, label %round.end
round.end:
  br i1 %live.next, label %again, label %warp.end
again:
{again}
warp.end:
  %w.next = add nuw nsw i64 %w, 32
  %w.more = icmp ult i64 %w.next, {threads}
  br i1 %w.more, label %warp, label %open
open:
{opening}
  call void @llvm.memset.p0.i64(ptr %waiting, i8 0, i64 {threads}, i1 false)
  br label %ended
ended:
  %l = phi i64 [ 0, %open ], [ %l.next, %ended.next ]
  %l.at = mul i64 %l, %stride
  %l.handle = getelementptr i8, ptr %area, i64 %l.at
  %l.done = call i1 @llvm.coro.done(ptr %l.handle)
  br i1 %l.done, label %ended.next, label %gather
ended.next:
  %l.next = add nuw nsw i64 %l, 1
  %l.more = icmp ult i64 %l.next, {threads}
  br i1 %l.more, label %ended, label %block.end"""


def functions(emitter: CpuEmitter, arguments: list[Argument]) -> list[str]:
    """The coroutine of one thread, and `@name.blocks` with its scheduler."""
    for signature in DECLARATIONS:
        emitter.declare(signature)
    threads, thread = emitter.threads, symbol(emitter, ".thread")
    rest = ["ptr %shared", "i64 %bx", "i64 %by", "i64 %bz", *GRID]
    rest += ["i32 %tid", "ptr %frames", "ptr %exchange", "ptr %waiting"]
    passed = [f"{a.type} {a.name}" for a in arguments] + rest
    parameters = [a.parameter for a in arguments] + rest
    coroutine = _THREAD.format(
        thread=thread,
        parameters=", ".join(parameters),
        threads=threads,
        entry="\n".join(emitter.entry),
        body="\n".join(emitter.lines),
        fault="\n".join(fault_lines(emitter, "thread.end")),
        end="\n".join(emitter.at_end()),
    )
    exchange = 2 * half_bytes(emitter)
    before = [
        f"  %waiting = alloca [{threads} x i8], align 16",
        "  %frames = alloca [3 x ptr], align 8",
        "  store ptr null, ptr %frames, align 8",
        f"  call void @llvm.memset.p0.i64(ptr %waiting, i8 0, i64 {threads}, i1 false)",
    ]
    if exchange:
        before += [
            f"  %exchange.raw = call ptr @malloc(i64 {exchange + _LINE})",
            "  %exchange.number = ptrtoint ptr %exchange.raw to i64",
            f"  %exchange.up = add i64 %exchange.number, {_LINE - 1}",
            f"  %exchange.aligned = and i64 %exchange.up, {-_LINE}",
            "  %exchange.skip = sub i64 %exchange.aligned, %exchange.number",
            "  %exchange = getelementptr i8, ptr %exchange.raw, i64 %exchange.skip",
        ]
    else:
        before.append("  %exchange = getelementptr i8, ptr %waiting, i64 0")
    if _mixed(emitter.kernel):
        emitter.declare("i64 @llvm.umin.i64(i64, i64)")
    scheduler = _WARPS if _mixed(emitter.kernel) else _ROUNDS
    # A lane that does not come gives 0, or what it gave before in this block: the same in each run.
    clear = [f"  call void @llvm.memset.p0.i64(ptr %exchange, i8 0, i64 {exchange}, i1 false)"] if exchange else []
    block = (_START + scheduler).format(
        thread=thread,
        passed=", ".join(passed),
        threads=threads,
        again="\n".join(unless_stopped(emitter, "round")),
        at_block="\n".join([*clear, *emitter.at_block()]),
        opening="\n".join(emitter.at_opening()),
    )
    after = ["  %raw.at = getelementptr ptr, ptr %frames, i64 2", "  %raw = load ptr, ptr %raw.at, align 8"]
    after.append("  call void @free(ptr %raw)")
    if exchange:
        after.append("  call void @free(ptr %exchange.raw)")
    return [coroutine, blocks_function(emitter, arguments, before, [block], after)]
