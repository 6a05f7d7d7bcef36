"""Kernels that use the hardware's own ops, on the CPU: each thread is a coroutine that stops with a *request*.

What the hardware does for a thread or for many at once (matrix instructions, asynchronous copies, barriers in memory,
clusters) is modelled in Python, in `backends.cpu.model`, which also decides which thread goes on when. A request is an
array of i64 words, one array a thread: the address of a description (a string of JSON: the op, its properties, the
types and buffers of its operands), then the operands, then room for the results. A memory operand is an address: of the
element that its indices name, or of the buffer's start where the op takes the whole buffer. The description null says
that the thread has ended.

`@tileopt.name` hands the model the entry points below it: `.start` makes a thread and runs it to its first request,
`.resume` runs it to its next, `.destroy` frees it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, StringAttr, UnitAttr, VectorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tileopt.backends.cpu import coroutine
from tileopt.backends.cpu.frame import GRID, Argument, CpuEmitter, fault_lines, symbol
from tileopt.backends.cpu.jit import MODEL
from tileopt.backends.cpu.uniform import EXCHANGES
from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.thread import pointer_to
from tileopt.dialects import (
    gpu,
    gpu_accumulator,
    gpu_cluster,
    gpu_inline,
    gpu_mbarrier,
    gpu_tensor,
    gpu_tma,
    gpu_warpgroup,
    gpu_wgmma,
    gpu_words,
    simt,
)
from tileopt.dialects.diagnostics import CompileError, Location, UnsupportedError, location_of
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.kernel import CLUSTER
from tileopt.dialects.simt import Kernel
from tileopt.dialects.simt_atomic import AtomicCas, AtomicRmw
from tileopt.dialects.simt_warp import SyncWarp
from tileopt.dialects.tensor_map import unfit
from tileopt.dialects.tile_types import BufferType, ViewType

YIELD = "yield"  # what a request asks for that only lets others go on
FRAGMENTS = (
    gpu.MmaSync,
    gpu_wgmma.Wgmma,
    gpu_accumulator.Accumulate,
    gpu_accumulator.AccumulatorLoad,
    gpu_accumulator.AccumulatorStore,
)
HARDWARE: tuple[type[Operation], ...] = (
    *FRAGMENTS,
    gpu.CpAsyncCommit,
    gpu.CpAsyncWait,
    *gpu_words.WordOps,
    *gpu_cluster.ClusterOps,
    *gpu_warpgroup.WarpgroupOps,
    *gpu_tensor.TensorOps,
    *gpu_mbarrier.MbarrierOps,
    *gpu_tma.TmaOps,
)


def needed(kernel: Kernel) -> bool:
    """Whether the kernel has ops that the model runs."""
    return any(
        isinstance(op, HARDWARE) or (isinstance(op, simt.Barrier) and op.id is not None) for op in kernel.body.walk()
    )


def spins(kernel: Kernel) -> bool:
    """Whether threads may wait for each other by atomics in a loop."""
    return any(map(_looks_again, kernel.body.walk()))


def _looks_again(op: Operation) -> bool:
    """An atomic in a `while` of which something is made: the loop may go on until another thread has written."""
    if not isinstance(op, AtomicRmw | AtomicCas) or not op.result.uses.get_length():
        return False
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, scf.WhileOp):
        parent = parent.parent_op()
    return parent is not None


# --- requests -------------------------------------------------------------------------------------------------------


def _plain(attribute: Attribute) -> object:
    match attribute:
        case StringAttr() | LayoutAttr():
            return attribute.data
        case IntegerAttr():
            return attribute.value.data
        case UnitAttr():
            return True
        case DenseArrayBase():
            values: Any = attribute
            return list(values.get_values())
        case ArrayAttr():
            return [_plain(a) for a in attribute.data]
        case _:
            return str(attribute)


_NAMES: dict[Attribute, str] = {d.ir: name for name, d in reversed(DTYPES.items())}


def _memory(type_: BufferType | ViewType) -> dict[str, object]:
    """What the model must know of a memory operand: its element type, and of a buffer where its elements lie."""
    found: dict[str, object] = {"element": _NAMES[type_.element_type]}
    if isinstance(type_, BufferType):
        shared = type_.shared_layout
        found["shape"] = list(shared.shape)
        found["layout"] = [list(shared.order), shared.bits, shared.base, shared.shift, shared.pad, shared.panel]
    return found


def describe(op: Operation, /, **more: object) -> str:
    """The description of an op's request."""
    place = location_of(op)
    properties = {n: _plain(a) for n, a in op.properties.items() if n not in ("operandSegmentSizes", "bounds")}
    found: dict[str, object] = {"op": op.name, **properties, **more, "results": len(op.results)}
    found["line"] = None if place is None else [place.file, place.line, place.column]
    found["memory"] = [_memory(v.type) for v in op.operands if isinstance(v.type, BufferType | ViewType)]
    vectors = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, VectorType)]
    found["fragments"] = [[_NAMES[t.element_type], t.get_shape()[0]] for t in vectors]
    found["results"] = sum(_registers(v) for v in op.results)
    segments = op.properties.get("operandSegmentSizes")
    found["segments"] = _plain(segments) if segments is not None else None
    return json.dumps(found)


def around(op: Operation) -> Location | None:
    """Where the condition or loop is that an op stands in."""
    parent = op.parent_op()
    return location_of(parent) if isinstance(parent, scf.ForOp | scf.IfOp | scf.WhileOp) else None


def _meeting(op: Operation) -> str:
    """The description of a meeting of lanes, with what may keep some of them out."""
    place = around(op)
    where = None if place is None else [place.file, place.line, place.column]
    return describe(op, operands=0, meets=True, around=where)


def _string(emitter: Emitter, text: str) -> str:
    """A constant of the module with this text, ended by a zero byte; texts that are the same are one."""
    key = f"description:{text}"
    if key not in emitter.output.globals:
        name = f"@tileopt.description.{len(emitter.output.globals)}"
        data = text.encode()
        body = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
        emitter.output.globals[key] = f'{name} = private constant [{len(data) + 1} x i8] c"{body}\\00"'
    return emitter.output.globals[key].split(" ", 1)[0]


def stop(emitter: Emitter, description: str) -> None:
    """The thread stops, and says why."""
    emitter.line(f"store ptr {_string(emitter, description)}, ptr %request, align 8")
    coroutine.suspend(emitter)


def _address(emitter: Emitter, memory: SSAValue, indices: Sequence[SSAValue]) -> str:
    assert isinstance(memory.type, BufferType | ViewType)
    if indices or not memory.type.rank:
        pointer = pointer_to(emitter, memory, indices)[0]
    else:
        value = emitter.values[memory]
        pointer = getattr(value, "pointer", "null")
    return emitter.assign(f"ptrtoint ptr {pointer} to i64")


def _word(emitter: Emitter, value: SSAValue) -> str:
    """A scalar's bits as an i64."""
    return _bits(emitter, emitter.element(value.type), emitter.scalar(value))


def _registers(value: SSAValue) -> int:
    """Words of a value: the registers of a fragment, or one."""
    return value.type.get_shape()[0] if isinstance(value.type, VectorType) else 1


def _fragment_words(emitter: Emitter, value: SSAValue) -> list[str]:
    """A word for each register of a fragment."""
    fragment, out = emitter.fragment(value), list[str]()
    for chunk in fragment.chunks:
        for lane in range(fragment.width):
            text = chunk
            if fragment.width > 1:
                vector = types.vector(fragment.width, fragment.element)
                text = emitter.assign(f"extractelement {vector} {chunk}, i32 {lane}")
            out.append(_bits(emitter, fragment.element, text))
    return out


def _bits(emitter: Emitter, element: str, text: str) -> str:
    bits = types.BITS[element]
    if element != f"i{bits}":
        text = emitter.assign(f"bitcast {element} {text} to i{bits}")
    return text if bits == 64 else emitter.assign(f"zext i{bits} {text} to i64")


def _words(emitter: Emitter, op: Operation) -> list[str]:
    """The operands as words: a memory operand and its indices are one address."""
    out: list[str] = []
    operands, at = list(op.operands), 0
    while at < len(operands):
        value = operands[at]
        at += 1
        if isinstance(value.type, VectorType):
            out += _fragment_words(emitter, value)
            continue
        if not isinstance(value.type, BufferType | ViewType):
            out.append(_word(emitter, value))
            continue
        count = 0 if isinstance(op, WHOLE_BUFFERS) else value.type.rank
        out.append(_address(emitter, value, operands[at : at + count]))
        at += count
    return out


def _copied(emitter: Emitter, op: gpu_tma.TmaLoad | gpu_tma.TmaStore) -> list[str]:
    """Of a bulk copy: the array's address, extents, strides and the offsets in it; the tile; the barrier of a load."""
    assert isinstance(op.buffer.type, BufferType)
    reason = unfit(op.view, op.buffer.type)
    if reason is not None:
        raise CompileError("gpu/tensor-map", f"the copy engine cannot move this tile: {reason}")
    view = emitter.view(op.view)
    start = emitter.assign(f"ptrtoint ptr {view.pointer} to i64")
    out = [start, *view.extents, *view.strides, *map(emitter.scalar, op.offsets), _address(emitter, op.buffer, ())]
    if isinstance(op, gpu_tma.TmaLoad):
        out.append(_address(emitter, op.barriers, [op.index]))
    return out


WHOLE_BUFFERS = (gpu_wgmma.Wgmma, gpu_accumulator.Accumulate, *gpu_warpgroup.WHOLE_BUFFERS, *gpu_tensor.WHOLE_BUFFERS)


def words_of(op: Operation) -> int:
    """The most words that an op's request has beside its description."""
    ranks = sum(v.type.rank for v in op.operands if isinstance(v.type, ViewType))
    return sum(map(_registers, (*op.operands, *op.results))) + 2 * ranks + 1


def request(emitter: Emitter, op: Operation) -> None:
    """Any op that the model does."""
    words = _copied(emitter, op) if isinstance(op, gpu_tma.TmaLoad | gpu_tma.TmaStore) else _words(emitter, op)
    if isinstance(op, gpu_words.CpAsyncElements):
        words.append(emitter.view(op.source).strides[-1] if len(op.source_indices) else "1")
    for number, word in enumerate(words, 1):
        place = emitter.assign(f"getelementptr i64, ptr %request, i64 {number}")
        emitter.line(f"store i64 {word}, ptr {place}, align 8")
    stop(emitter, describe(op, operands=len(words)))
    at = 1 + len(words)
    for result in op.results:
        element = emitter.element(result.type)
        texts = [_answer(emitter, number, element) for number in range(at, at + _registers(result))]
        at += len(texts)
        if not isinstance(result.type, VectorType):
            emitter.values[result] = texts[0]
            continue
        width, chunks = emitter.width_of(result.type), list[str]()
        for first in range(0, len(texts), width):
            chunk = texts[first] if width == 1 else "poison"
            for lane in range(width if width > 1 else 0):
                given = f"{types.vector(width, element)} {chunk}, {element} {texts[first + lane]}"
                chunk = emitter.assign(f"insertelement {given}, i32 {lane}")
            chunks.append(chunk)
        emitter.define(result, chunks)


def _answer(emitter: Emitter, number: int, element: str) -> str:
    """A word of the request as a register."""
    bits = types.BITS[element]
    place = emitter.assign(f"getelementptr i64, ptr %request, i64 {number}")
    text = emitter.assign(f"load i64, ptr {place}, align 8")
    if bits != 64:
        text = emitter.assign(f"trunc i64 {text} to i{bits}")
    return text if element == f"i{bits}" else emitter.assign(f"bitcast i{bits} {text} to {element}")


def cp_async(emitter: Emitter, op: Operation) -> None:
    """A tile's copy, at once: nobody may read what is under way, or write it."""
    assert isinstance(op, gpu.CpAsync) and isinstance(op.target.type, BufferType)
    type_ = op.target.type
    layout = op.layout.over(type_.get_shape())
    properties: dict[str, Attribute] = {
        name: op.properties[name] for name in ("layout", "bounds", "padding") if name in op.properties
    }
    properties["shape"] = DenseArrayBase.from_list(i64, type_.get_shape())
    fragment = VectorType(type_.element_type, [layout.registers])
    load = simt.FragmentLoad.create(operands=[op.view, *op.offsets], result_types=[fragment], properties=properties)
    store = simt.SharedStore.create(operands=[load.result, op.target], properties={"layout": op.layout})
    for made in (load, store):
        emitter.emit_op(made)
    for made in (store, load):
        made.erase()


def ldmatrix(emitter: Emitter, op: Operation) -> None:
    """Each lane reads what it gets: the layout says what."""
    assert isinstance(op, gpu.LdMatrix)
    load = simt.SharedLoad.create(operands=[op.source], result_types=[op.result.type], properties={"layout": op.layout})
    emitter.emit_op(load)
    emitter.values[op.result] = emitter.values[load.result]
    load.erase()


def wgmma_wait(emitter: Emitter, op: Operation) -> None:
    """The product was computed when it was started; the model looks whether its operands still lie there."""
    assert isinstance(op, gpu_wgmma.WgmmaWait)
    stop(emitter, describe(op, operands=0))
    emitter.values[op.result] = emitter.values[op.acc]


def inline_ptx(emitter: Emitter, op: Operation) -> None:
    """The model that the program gives; no CPU runs PTX."""
    assert isinstance(op, gpu_inline.InlinePtx)
    if op.modelled is None:
        raise UnsupportedError(
            "backend/inline-ptx",
            "inline PTX without a reference runs on a GPU only",
            help="give reference=, a function of the operands that computes the results",
        )
    for result, value in zip(op.results, op.model, strict=True):
        emitter.values[result] = emitter.scalar(value)


def accumulator(emitter: Emitter, op: Operation) -> None:
    """An address in tensor memory, which only counts columns."""
    assert isinstance(op, gpu_accumulator.Accumulator)
    if op.base is None or op.start is None:
        raise CompileError("gpu/accumulator", "this accumulator has no columns yet; run lower-accumulators before")
    base = emitter.scalar(op.base)
    emitter.values[op.result] = emitter.assign(f"add i32 {base}, {op.start.value.data}")


HANDLERS: dict[type[Operation], Handler] = {
    **dict.fromkeys(HARDWARE, request),
    gpu_accumulator.Accumulator: accumulator,
    gpu_inline.InlinePtx: inline_ptx,
    gpu.CpAsync: cp_async,
    gpu.LdMatrix: ldmatrix,
    gpu_wgmma.WgmmaWait: wgmma_wait,
}


class RequestEmitter(CpuEmitter):
    """Writes a kernel whose meetings are requests, too."""

    def emit_op(self, op: Operation) -> None:
        # The model counts who has come; the words that lanes exchange go through the block's memory as ever.
        if isinstance(op, simt.Barrier):
            stop(self, describe(op, operands=0))
            return
        if isinstance(op, SyncWarp):
            stop(self, _meeting(op))
            return
        if isinstance(op, EXCHANGES):
            self.line(f"store ptr {_string(self, _meeting(op))}, ptr %request, align 8")
        super().emit_op(op)


class YieldingEmitter(CpuEmitter):
    """To stand before others: atomics of a loop let the other threads go on first."""

    def emit_op(self, op: Operation) -> None:
        if _looks_again(op):
            stop(self, describe(op, op=YIELD, operands=0))
        super().emit_op(op)


class ModelEmitter(YieldingEmitter, RequestEmitter):
    """Writes a kernel for the model."""


# --- the functions around the body -----------------------------------------------------------------------------------

_THREAD = """define internal ptr @{thread}({parameters}) presplitcoroutine nounwind {{
entry:
  %half = alloca i64, align 8
  %id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)
  %size = call i64 @llvm.coro.size.i64()
  %bytes = add i64 %size, 64
  %raw = call ptr @malloc(i64 %bytes)
  %raw.number = ptrtoint ptr %raw to i64
  %up = add i64 %raw.number, 63
  %aligned = and i64 %up, -64
  %skip = sub i64 %aligned, %raw.number
  %frame = getelementptr i8, ptr %raw, i64 %skip
  %handle = call ptr @llvm.coro.begin(token %id, ptr %frame)
  br label %thread
thread:
  %raw.kept = getelementptr i8, ptr %raw, i64 0
  store ptr %raw.kept, ptr %keep, align 8
  store i64 0, ptr %half, align 8
{entry}
  br label %body
body:
{body}
  br label %thread.end
{fault}
thread.end:
{end}
  store ptr null, ptr %request, align 8
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

# The model's calls, and the types of what it passes.
_OUTER = ("ptr %slots", "ptr %shared", "i64 %bx", "i64 %by", "i64 %bz", *GRID, "i32 %tid")
_AREAS = ("ptr %exchange", "ptr %request", "ptr %keep")


def functions(emitter: CpuEmitter, arguments: list[Argument]) -> list[str]:
    """The coroutine of one thread, what the model calls, and the entry."""
    for signature in coroutine.DECLARATIONS:
        emitter.declare(signature)
    thread, name = symbol(emitter, ".thread"), symbol(emitter)
    rest = [*_OUTER[1:], *_AREAS]
    coro = _THREAD.format(
        thread=thread,
        parameters=", ".join([*(f"{a.type} {a.name}" for a in arguments), *rest]),
        entry="\n".join(emitter.entry),
        body="\n".join(emitter.lines),
        fault="\n".join(fault_lines(emitter, "thread.end")),
        end="\n".join(emitter.at_end()),
    )
    lines, passed = ["entry:"], list[str]()
    for number, argument in enumerate(arguments):
        memory = types.memory_type(argument.type)
        lines.append(f"  %p{number} = getelementptr i64, ptr %slots, i64 {number}")
        lines.append(f"  %r{number} = load {memory}, ptr %p{number}, align 8")
        text = f"%r{number}"
        if memory != argument.type:
            text = f"%t{number}"
            lines.append(f"  {text} = icmp ne {memory} %r{number}, 0")
        passed.append(f"{argument.type} {text}")
    start, resume = symbol(emitter, ".start"), symbol(emitter, ".resume")
    lines += [f"  %made = call ptr @{thread}({', '.join([*passed, *rest])})", "  ret ptr %made"]
    facts = _string(emitter, json.dumps(_facts(emitter)))
    callee = emitter.declare(f"void @{MODEL}(ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64, i64)")
    given = f"ptr {facts}, ptr @{start}, ptr @{resume}, ptr @free, ptr %slots, i64 %first, i64 %last"
    return [
        coro,
        "\n".join([f"define internal ptr @{start}({', '.join([*_OUTER, *_AREAS])}) nounwind {{", *lines, "}"]),
        f"define internal void @{resume}(ptr %handle) nounwind {{\n"
        "  call void @llvm.coro.resume(ptr %handle)\n  ret void\n}",
        f"define void @{name}(ptr %slots, ptr %shared, i64 %first, i64 %last, {', '.join(GRID)}) {{\n"
        f"  call void {callee}({given}, {', '.join(GRID)})\n  ret void\n}}",
    ]


def _facts(emitter: Emitter) -> dict[str, object]:
    """What the model must know of the kernel."""
    kernel = emitter.kernel
    cluster = kernel.attributes.get(CLUSTER)
    return {
        "kernel": kernel.sym_name.data,
        "threads": emitter.threads,
        "shared": kernel.integer(simt.SHARED_BYTES) or 0,
        "exchange": 2 * coroutine.half_bytes(emitter),
        "words": 1 + max(words_of(op) for op in kernel.body.walk()),
        "cluster": list(cluster.get_values()) if isinstance(cluster, DenseArrayBase) else [1, 1, 1],
    }
