"""Arrays on the CPU: fragment loads and stores. An element outside the array is never touched.

A `hoisted` access tests once a block whether the whole tile is inside and takes one of two paths.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation

from tileopt.backends.cpu.pieces import Pieces, from_memory, moved_type, pointer_vector, to_memory
from tileopt.backends.llvm import types
from tileopt.backends.llvm.access import Access, operand_texts, register_mask, run_length
from tileopt.backends.llvm.coords import writer
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.dialects import simt
from tileopt.dialects.bounds import Outcome
from tileopt.dialects.dtypes import element_type


def _pieces(access: Access, width: int, vector: IntegerAttr | None) -> Pieces:
    emitter, layout = access.emitter, access.layout
    run = run_length(layout, access.view.unit_axis, width)
    side_by_side = 1 if vector is None else vector.value.data
    align = types.bytes_of(access.memory) * max(1, min(side_by_side & -side_by_side, run))
    base = access.thread_pointer()
    offsets = {r: access.register_offset(r) for r in range(0, layout.registers, run)}
    return Pieces(
        emitter,
        moved_type(emitter.element(access.view.type.element_type)),
        width,
        run,
        align,
        lambda register: access.step(base, offsets[register]),
        lambda start: pointer_vector(emitter, access.memory, base, [offsets[r] for r in range(start, start + width)]),
    )


def load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.FragmentLoad)
    layout = op.layout_over(op.result.type)
    type_, width = element_type(op.result.type), emitter.width_of(op.result.type)
    access = Access(emitter, emitter.view(op.view), operand_texts(emitter, op, 1), layout, op.bounds)
    pieces = _pieces(access, width, None if op.phased else op.vector)
    padding = _padding(op.padding, type_, pieces.memory)

    def chunks(checked: tuple[int, ...]) -> list[str]:
        windows, starts = access.windows(checked), range(0, layout.registers, width)
        return [pieces.load(at, register_mask(emitter, layout, windows, at, width), padding) for at in starts]

    loaded = _by_outcome(emitter, access, chunks, pieces.chunk_type)
    emitter.define(op.result, [from_memory(emitter, c, width, emitter.element(type_)) for c in loaded])


def store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.FragmentStore)
    layout = op.layout_over(op.value.type)
    value = emitter.fragment(op.value)
    access = Access(emitter, emitter.view(op.view), operand_texts(emitter, op, 2), layout, op.bounds)
    with_writer = writer(emitter, layout)
    done = emitter.label("done")
    if with_writer is not None:
        write = emitter.label("write")
        emitter.branch_if(with_writer, write, done)
        emitter.start(write)
    pieces = _pieces(access, value.width, None if op.phased else op.vector)
    texts = [to_memory(emitter, c, value.width, value.element) for c in value.chunks]

    def chunks(checked: tuple[int, ...]) -> list[str]:
        windows = access.windows(checked)
        for number, text in enumerate(texts):
            start = number * value.width
            pieces.store(start, register_mask(emitter, layout, windows, start, value.width), text)
        return []

    _by_outcome(emitter, access, chunks, pieces.chunk_type)
    if with_writer is not None:
        emitter.branch(done)
        emitter.start(done)


def _by_outcome(
    emitter: Emitter, access: Access, chunks: Callable[[tuple[int, ...]], list[str]], type_: str
) -> list[str]:
    """`chunks(axes to test)` by the outcome: once, or as two paths of which a hoisted test takes one."""
    if access.outcome is not Outcome.HOISTED or not access.checked_axes:
        return chunks(access.checked_axes)
    fast, slow, end = emitter.label("inside"), emitter.label("edge"), emitter.label("end")
    emitter.branch_if(access.all_inside(), fast, slow)
    emitter.start(fast)
    first, from_first = chunks(()), emitter.block
    emitter.branch(end)
    emitter.start(slow)
    second, from_second = chunks(access.checked_axes), emitter.block
    emitter.branch(end)
    emitter.start(end)
    rows = zip(first, second, strict=True)
    return [emitter.assign(f"phi {type_} [ {a}, %{from_first} ], [ {b}, %{from_second} ]") for a, b in rows]


def _padding(padding: Attribute | None, type_: Attribute, memory: str) -> str:
    """What elements outside the array read as, in the type of memory."""
    given: Any = padding  # a number's attribute, where there is one
    value: float = 0 if given is None else given.value.data
    element = types.llvm_type(type_)
    if element == memory:
        return types.constant_text(value, type_)
    return str(int(bool(value))) if element == "i1" else str(types.float_bits(float(value), type_))


HANDLERS: dict[type[Operation], Handler] = {simt.FragmentLoad: load, simt.FragmentStore: store}
