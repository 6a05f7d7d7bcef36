"""Fragments from and to shared memory, as wide as the buffer's swizzle and padding allow."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.coords import writer
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.values import Buffer
from tileopt.backends.nvidia.chunks import chunks_of, registers_of
from tileopt.backends.nvidia.guards import Guard, both
from tileopt.backends.nvidia.ptx import Statement, braces
from tileopt.backends.nvidia.shared_index import SHARED, SharedAddresses, shared_run, thread_map
from tileopt.backends.nvidia.words import Words, as_operand, from_operand, pack, unpack, words_of, zero
from tileopt.dialects import simt
from tileopt.dialects.layout import Layout


def _chunks(buffer: Buffer, layout: Layout, element: str) -> tuple[tuple[tuple[int, ...], ...], int]:
    length = shared_run(buffer, layout, types.bytes_of(element))
    if not layout.shape:
        return ((0,),), 1
    return chunks_of(layout, buffer.type.shared_layout.order[-1], length), length


def load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.SharedLoad)
    buffer, element = emitter.buffer(op.source), emitter.element(op.result.type)
    layout = simt.fragment_layout(op.layout, buffer.type.get_shape(), op.result.type)
    chunks, length = _chunks(buffer, layout, element)
    words = words_of(element, length)
    addresses, guard = SharedAddresses(emitter, buffer, thread_map(layout)), Guard(emitter, layout, (), (), ())
    registers = [""] * layout.registers
    for chunk in chunks:
        at = layout.register_coords[chunk[0]]
        condition = guard.condition(at)
        if condition == "false":
            loaded = [zero(words.type)] * words.count
        else:
            pointer, constant = addresses.at(at)
            loaded = load_shared(emitter, words, pointer, constant, condition)
        for register, value in zip(chunk, unpack(emitter, element, length, loaded), strict=True):
            registers[register] = value
    emitter.define(op.result, registers)


def store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.SharedStore)
    buffer, element = emitter.buffer(op.target), emitter.element(op.value.type)
    layout = simt.fragment_layout(op.layout, buffer.type.get_shape(), op.value.type)
    values = registers_of(emitter.fragment(op.value))
    chunks, length = _chunks(buffer, layout, element)
    words, one = words_of(element, length), writer(emitter, layout)
    addresses, guard = SharedAddresses(emitter, buffer, thread_map(layout)), Guard(emitter, layout, (), (), ())
    for chunk in chunks:
        at = layout.register_coords[chunk[0]]
        condition = both(emitter, guard.condition(at), one)
        if condition != "false":
            pointer, constant = addresses.at(at)
            part = pack(emitter, element, [values[r] for r in chunk])
            store_shared(emitter, words, part, pointer, constant, condition)


def shared_address(emitter: Emitter, pointer: str) -> str:
    """A pointer to shared memory as an i32, the operand that shared accesses in PTX take."""
    return emitter.assign(f"ptrtoint {SHARED} {pointer} to i32")


def _moved(emitter: Emitter, pointer: str, constant: int) -> str:
    return emitter.assign(f"getelementptr i8, {SHARED} {pointer}, i32 {constant}") if constant else pointer


def load_shared(emitter: Emitter, words: Words, pointer: str, constant: int, condition: str | None) -> list[str]:
    """Words from `pointer` + `constant` bytes; zero where the condition does not hold."""
    if condition is None:
        at = _moved(emitter, pointer, constant)
        loaded = emitter.assign(f"load {words.vector}, {SHARED} {at}, align {words.bytes * words.count}")
        if words.count == 1:
            return [loaded]
        return [emitter.assign(f"extractelement {words.vector} {loaded}, i32 {i}") for i in range(words.count)]
    statement = Statement()
    results = [statement.output(words.operand, zero(words.operand)) for _ in range(words.count)]
    address = statement.word("i32", shared_address(emitter, pointer))
    predicate = statement.predicate(condition)
    suffix = f".v{words.count}" if words.count > 1 else ""
    text = f"@{predicate} ld.shared{suffix}.b{8 * words.bytes} {braces(results)}, [{address}+{constant}];"
    return [from_operand(emitter, words, w) for w in statement.emit(emitter, text, effects=True)]


def store_shared(
    emitter: Emitter, words: Words, values: Sequence[str], pointer: str, constant: int, condition: str | None
) -> None:
    """Writes words to `pointer` + `constant` bytes where the condition holds."""
    if condition is None:
        value = values[0]
        if words.count > 1:
            value = "poison"
            for lane, word in enumerate(values):
                value = emitter.assign(f"insertelement {words.vector} {value}, {words.type} {word}, i32 {lane}")
        at = _moved(emitter, pointer, constant)
        emitter.line(f"store {words.vector} {value}, {SHARED} {at}, align {words.bytes * words.count}")
        return
    statement = Statement()
    address = statement.word("i32", shared_address(emitter, pointer))
    predicate = statement.predicate(condition)
    operands = [statement.word(words.operand, as_operand(emitter, words, w)) for w in values]
    suffix = f".v{words.count}" if words.count > 1 else ""
    text = f"@{predicate} st.shared{suffix}.b{8 * words.bytes} [{address}+{constant}], {braces(operands)};"
    statement.emit(emitter, text, effects=True)


HANDLERS: dict[type[Operation], Handler] = {simt.SharedLoad: load, simt.SharedStore: store}
