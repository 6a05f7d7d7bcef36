"""Shared memory on the CPU: scratch memory of the block. Phantoms read as zero and are not written."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.backends.cpu.pieces import Pieces, from_memory, moved_type, to_memory
from tileopt.backends.llvm import types
from tileopt.backends.llvm.access import phantom_windows, register_mask
from tileopt.backends.llvm.coords import writer
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.shared import SharedAccess, contiguous_run
from tileopt.backends.llvm.values import Buffer
from tileopt.dialects import simt
from tileopt.dialects.layout import Layout


def _pieces(emitter: Emitter, buffer: Buffer, layout: Layout, width: int) -> Pieces:
    access = SharedAccess(emitter, buffer, layout)
    element = emitter.element(buffer.type.element_type)

    def pointers(start: int) -> str:
        type_, out = f"<{width} x ptr>", "poison"
        for lane in range(width):
            out = emitter.assign(f"insertelement {type_} {out}, ptr {access.pointer(start + lane)}, i64 {lane}")
        return out

    run, size = contiguous_run(access.shared, layout, width), types.bytes_of(element)
    return Pieces(emitter, moved_type(element), width, run, size, access.pointer, pointers)


def load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.SharedLoad)
    buffer = emitter.buffer(op.source)
    width = emitter.width_of(op.result.type)
    layout = simt.fragment_layout(op.layout, buffer.type.get_shape(), op.result.type)
    pieces, windows = _pieces(emitter, buffer, layout, width), phantom_windows(emitter, layout)
    zero = types.constant_text(0, buffer.type.element_type) if pieces.memory in types.SUFFIX else "0"
    element, chunks = emitter.element(op.result.type), list[str]()
    for start in range(0, layout.registers, width):
        chunk = pieces.load(start, register_mask(emitter, layout, windows, start, width), zero)
        chunks.append(from_memory(emitter, chunk, width, element))
    emitter.define(op.result, chunks)


def store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.SharedStore)
    buffer, value = emitter.buffer(op.target), emitter.fragment(op.value)
    layout = simt.fragment_layout(op.layout, buffer.type.get_shape(), op.value.type)
    with_writer, done = writer(emitter, layout), emitter.label("done")
    if with_writer is not None:
        write = emitter.label("write")
        emitter.branch_if(with_writer, write, done)
        emitter.start(write)
    pieces, windows = _pieces(emitter, buffer, layout, value.width), phantom_windows(emitter, layout)
    for number, chunk in enumerate(value.chunks):
        start = number * value.width
        mask = register_mask(emitter, layout, windows, start, value.width)
        pieces.store(start, mask, to_memory(emitter, chunk, value.width, value.element))
    if with_writer is not None:
        emitter.branch(done)
        emitter.start(done)


HANDLERS: dict[type[Operation], Handler] = {simt.SharedLoad: load, simt.SharedStore: store}
