"""What one thread of a SIMT kernel asks and touches: its place in the block, and one element of memory at a time."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.faults import test_access
from tileopt.backends.llvm.shared import element_pointer, linear_index
from tileopt.backends.llvm.values import Buffer, View
from tileopt.dialects.kernel import DYNAMIC_SHARED
from tileopt.dialects.simt import SHARED_BYTES
from tileopt.dialects.simt_thread import BlockDim, CheckIndex, DynamicShared, ElementLoad, ElementStore, ThreadIdx
from tileopt.dialects.tile_types import BufferType
from tileopt.passes.lowering.linear_forms import constant_of


def block_extents(emitter: Emitter) -> tuple[int, ...]:
    return emitter.kernel.block or (emitter.threads, 1, 1)


def thread_idx(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ThreadIdx)
    axis, extents = op.axis.value.data, block_extents(emitter)

    def make() -> str:
        place, below = emitter.backend.thread_id(emitter), 1
        for extent in extents[:axis]:
            below *= extent
        if below > 1:
            place = emitter.assign(f"udiv i32 {place}, {below}")
        if below * extents[axis] < emitter.threads:
            place = emitter.assign(f"urem i32 {place}, {extents[axis]}")
        return emitter.assign(f"zext nneg i32 {place} to i64")

    emitter.values[op.result] = "0" if extents[axis] == 1 else emitter.once(("thread_idx", axis), make)


def block_dim(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, BlockDim)
    emitter.values[op.result] = str(block_extents(emitter)[op.axis.value.data])


def check_index(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, CheckIndex)
    if op.bounds is None or op.bounds.outcome == "checked":
        emitter.faults.test(emitter, op, 0, emitter.scalar(op.index), emitter.scalar(op.length))


def dynamic_shared(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, DynamicShared)
    type_, kernel = op.result.type, emitter.kernel
    assert isinstance(type_, BufferType)
    # The dynamic part follows the static one.
    start = (kernel.integer(SHARED_BYTES) or 0) - (kernel.integer(DYNAMIC_SHARED) or 0) + op.offset.value.data
    pointer = emitter.backend.shared_base(emitter)
    if start:
        space = emitter.backend.shared_pointer
        base = pointer
        pointer = emitter.once(
            ("shared", start), lambda: emitter.assign(f"getelementptr inbounds i8, {space} {base}, i64 {start}")
        )
    emitter.values[op.result] = Buffer(pointer, type_, min(16, start & -start) if start else 16)


def pointer_to(emitter: Emitter, memory: SSAValue, indices: Sequence[SSAValue]) -> tuple[str, str, str]:
    """An element's address, the LLVM type of such pointers, and the element's type in memory."""
    places, value = [emitter.scalar(index) for index in indices], emitter.values[memory]
    if isinstance(value, View):
        type_ = types.memory_type(emitter.element(value.type.element_type))
        space = value.space or emitter.backend.global_pointer
        return _stepped(emitter, value.pointer, places, value.strides, type_, space), space, type_
    assert isinstance(value, Buffer)
    type_ = types.memory_type(emitter.element(value.type.element_type))
    shared = value.type.shared_layout
    if not shared.bits and shared.panels == 1:
        # In 64 bits, where LLVM finds constants that neighbours differ by: they go into the instructions.
        space = emitter.backend.shared_pointer
        parts = [_split(index) for index in indices]
        constant = sum(c * stride for (_, c), stride in zip(parts, shared.strides, strict=True))
        constant = (constant + (1 << 63)) % (1 << 64) - (1 << 63)  # what is never reached may have any index
        places = [emitter.scalar(part) if part is not None else "0" for part, _ in parts]
        strides = [str(stride) for stride in shared.strides]
        pointer = _stepped(emitter, value.pointer, places, strides, type_, space, inside=not constant)
        if constant:
            within = " inbounds" if pointer == value.pointer else ""
            pointer = emitter.assign(f"getelementptr{within} {type_}, {space} {pointer}, i64 {constant}")
        return pointer, space, type_
    narrow = [p if p.isdigit() else emitter.assign(f"trunc i64 {p} to i32") for p in places]
    linear = linear_index(emitter, value.type.shared_layout, narrow)
    return element_pointer(emitter, value, linear), emitter.backend.shared_pointer, type_


def _split(index: SSAValue) -> tuple[SSAValue | None, int]:
    """An index as a value, or none, and a constant."""
    constant = 0
    while isinstance(index.owner, arith.AddiOp):
        b = constant_of(index.owner.rhs)
        if b is None:
            break
        constant, index = constant + b, index.owner.lhs
    last = constant_of(index)
    return (index, constant) if last is None else (None, constant + last)


def _stepped(
    emitter: Emitter,
    pointer: str,
    places: Sequence[str],
    strides: Sequence[str],
    type_: str,
    space: str,
    inside: bool = True,
) -> str:
    """The address of the element at `places`; `inside`: it lies inside of what the pointer is to."""
    total, wraps, within = "0", " nsw" if inside else "", " inbounds" if inside else ""
    for index, stride in zip(places, strides, strict=True):
        if index == "0":
            continue
        # Inside the array, whose bytes an i64 counts.
        term = index if stride == "1" else emitter.assign(f"mul{wraps} i64 {index}, {stride}")
        total = term if total == "0" else emitter.assign(f"add{wraps} i64 {total}, {term}")
    if total == "0":
        return pointer
    return emitter.assign(f"getelementptr{within} {type_}, {space} {pointer}, i64 {total}")


def element_load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ElementLoad)
    test_access(emitter, op)
    pointer, space, type_ = pointer_to(emitter, op.mem, op.indices)
    loaded = emitter.assign(f"load {type_}, {space} {pointer}, align {types.bytes_of(type_)}")
    if emitter.element(op.result.type) == "i1":
        loaded = emitter.assign(f"icmp ne i8 {loaded}, 0")
    emitter.values[op.result] = loaded


def element_store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ElementStore)
    test_access(emitter, op)
    pointer, space, type_ = pointer_to(emitter, op.mem, op.indices)
    value = emitter.scalar(op.value)
    if emitter.element(op.value.type) == "i1":
        value = emitter.assign(f"zext i1 {value} to i8")
    emitter.line(f"store {type_} {value}, {space} {pointer}, align {types.bytes_of(type_)}")


HANDLERS: dict[type[Operation], Handler] = {
    ThreadIdx: thread_idx,
    BlockDim: block_dim,
    ElementLoad: element_load,
    ElementStore: element_store,
    CheckIndex: check_index,
    DynamicShared: dynamic_shared,
}
