"""Queries of the grid, the arrays and the thread, and the parts of shared memory."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.arith import constant_int
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.values import Buffer
from tileopt.dialects import simt
from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.kernel import PERSISTENT
from tileopt.dialects.tile_types import BufferType


def thread_id(emitter: Emitter, op: Operation) -> None:
    emitter.values[op.results[0]] = emitter.backend.thread_id(emitter)


def block_id(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.BlockId)
    if PERSISTENT in emitter.kernel.attributes and op.physical is None:
        raise CompileError("backend/persistent", "a block of a persistent grid has no id of its own")
    emitter.values[op.result] = emitter.backend.block_id(emitter, op.axis.value.data)


def grid_dim(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.GridDim)
    axis = op.axis.value.data
    if PERSISTENT in emitter.kernel.attributes and op.physical is None:
        emitter.values[op.result] = grid_parameter(axis)
        return
    emitter.values[op.result] = emitter.backend.grid_dim(emitter, axis)


def grid_parameter(axis: int) -> str:
    """The argument of a persistent kernel that is an extent of the launch's grid."""
    return f"%grid.{'xyz'[axis]}"


def dim(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.Dim)
    emitter.values[op.result] = emitter.view(op.view).extents[op.axis.value.data]


def phase(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.Phase)
    view, total = emitter.view(op.view), "0"
    for offset, stride in zip(op.offsets, view.strides, strict=True):
        term = emitter.scalar(offset)
        if term != "0" and stride != "0":
            term = term if stride == "1" else emitter.assign(f"mul i64 {term}, {stride}")
            total = term if total == "0" else emitter.assign(f"add i64 {total}, {term}")
    element = types.memory_type(emitter.element(view.type.element_type))
    space = emitter.backend.global_pointer
    at = view.pointer
    if total != "0":
        at = emitter.assign(f"getelementptr {element}, {space} {at}, i64 {total}")
    address = emitter.assign(f"ptrtoint {space} {at} to i64")
    beyond = emitter.assign(f"and i64 {address}, {op.bytes.value.data - 1}")
    shift = types.bytes_of(element).bit_length() - 1
    emitter.values[op.result] = emitter.assign(f"lshr i64 {beyond}, {shift}") if shift else beyond


def buffer_bytes(type_: BufferType) -> int:
    """Bytes of one tile in shared memory; the tiles of a ring lie as far apart."""
    return type_.shared_layout.size * types.bytes_of(types.llvm_type(type_.element_type))


def alloc_shared(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.AllocShared)
    if op.offset is None:
        raise CompileError("backend/unallocated", "shared memory without an offset: run allocate-onchip first")
    type_ = op.result.type
    assert isinstance(type_, BufferType)
    pointer = emitter.backend.shared_base(emitter)
    offset = op.offset.value.data
    if offset:
        space = emitter.backend.shared_pointer
        base = pointer
        pointer = emitter.once(
            ("shared", offset), lambda: emitter.assign(f"getelementptr inbounds i8, {space} {base}, i64 {offset}")
        )
    emitter.values[op.result] = Buffer(pointer, type_, min(16, offset & -offset) if offset else 16)


def slot(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.Slot)
    ring, index = emitter.buffer(op.ring), emitter.scalar(op.index)
    distance, known = buffer_bytes(ring.type), constant_int(index)
    pointer = ring.pointer
    if known != 0:
        offset = str(known * distance) if known is not None else emitter.assign(f"mul i64 {index}, {distance}")
        space = emitter.backend.shared_pointer
        pointer = emitter.assign(f"getelementptr inbounds i8, {space} {pointer}, i64 {offset}")
    emitter.values[op.result] = Buffer(pointer, ring.type, min(ring.align, distance & -distance))


def view_buffer(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.ViewBuffer)
    type_ = op.result.type
    assert isinstance(type_, BufferType)
    source = emitter.buffer(op.source)
    emitter.values[op.result] = Buffer(source.pointer, type_, source.align)


HANDLERS: dict[type[Operation], Handler] = {
    simt.ThreadId: thread_id,
    simt.BlockId: block_id,
    simt.GridDim: grid_dim,
    simt.Dim: dim,
    simt.Phase: phase,
    simt.AllocShared: alloc_shared,
    simt.Slot: slot,
    simt.ViewBuffer: view_buffer,
}
