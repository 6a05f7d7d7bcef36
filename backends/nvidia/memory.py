"""Arrays in global memory: fragment loads and stores as the widest accesses that are legal, masked by predicates.

An address is the array's pointer, the block's part (the same for all threads), the thread's part, a part for each row
of registers, and a constant that the instruction holds. A masked chunk is one predicated instruction, not a block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tileopt.backends.llvm import types
from tileopt.backends.llvm.coords import thread_coord_i64, writer
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.values import View
from tileopt.backends.nvidia.chunks import Chunk, chunks_of, longest, registers_of
from tileopt.backends.nvidia.guards import Guard, both
from tileopt.backends.nvidia.policies import policy_of
from tileopt.backends.nvidia.ptx import PURE, Statement, braces
from tileopt.backends.nvidia.words import as_operand, from_operand, pack, unpack, words_of, zero
from tileopt.dialects import simt
from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.layout import Coord, Layout

GLOBAL = "ptr addrspace(1)"
ACCESS_BYTES = 16  # most that one access of a thread moves


class Addresses:
    """Addresses of a fragment's registers in an array; `small`: all byte offsets inside the array fit in 31 bits."""

    def __init__(self, emitter: Emitter, view: View, offsets: Sequence[str], layout: Layout, small: bool) -> None:
        self.emitter = emitter
        self.view = view
        self.layout = layout
        self.small = small
        self.element = types.memory_type(emitter.element(view.type.element_type))
        self.bytes = types.bytes_of(self.element)
        self._rows: dict[Coord, str] = {}
        block = self._sum([(offset, stride) for offset, stride in zip(offsets, view.strides, strict=True)])
        self.first = self._step(view.pointer, block)  # of the tile's first element
        thread = self._sum(
            [(thread_coord_i64(emitter, layout, axis), self._stride(axis)) for axis in range(len(layout.shape))]
        )
        self.base = self._step(self.first, thread)

    def _stride(self, axis: int) -> str:
        """The axis's stride; where offsets are small only its low half, so that products take one instruction."""
        stride = self.view.strides[axis]
        if not self.small or not stride.startswith("%"):
            return stride

        def make() -> str:
            low = self.emitter.assign(f"trunc i64 {stride} to i32")
            return self.emitter.assign(f"sext i32 {low} to i64")

        return self.emitter.once(("narrow", stride), make)

    def _sum(self, terms: Sequence[tuple[str, str]]) -> str:
        total = "0"
        for a, b in terms:
            if "0" in (a, b):
                continue
            product = a if b == "1" else b if a == "1" else self.emitter.assign(f"mul i64 {a}, {b}")
            total = product if total == "0" else self.emitter.assign(f"add i64 {total}, {product}")
        return total

    def _step(self, pointer: str, elements: str) -> str:
        if elements == "0":
            return pointer
        return self.emitter.assign(f"getelementptr {self.element}, {GLOBAL} {pointer}, i64 {elements}")

    def at(self, coord: Coord) -> tuple[str, int]:
        """(pointer, constant bytes to add) of the register at `coord`."""
        unit = self.view.unit_axis
        row = tuple(0 if axis == unit else c for axis, c in enumerate(coord))
        if row not in self._rows:
            terms = [(str(c), self._stride(axis)) for axis, c in enumerate(row) if c]
            self._rows[row] = self._step(self.base, self._sum(terms))
        constant = 0 if unit is None else coord[unit] * self.bytes
        return self._rows[row], constant


def is_small(emitter: Emitter, view: SSAValue) -> bool:
    """Whether the contract of the array promises byte offsets of 31 bits."""
    index = getattr(view, "index", None)
    contract = None if index is None else emitter.kernel.contract(index)
    return contract is not None and contract.small


def tested_axes(bounds: BoundsAttr | None, rank: int) -> tuple[int, ...]:
    """Axes along which the access may leave the array; all of them where nothing is known."""
    if bounds is None:
        return tuple(range(rank))
    return () if bounds.outcome in (Outcome.PROVED, Outcome.LAUNCH) else bounds.axes


def chunk_length(view: View, layout: Layout, vector: IntegerAttr | None) -> int:
    """Elements that one access may move."""
    element = types.llvm_type(view.type.element_type)
    limit = 1 if vector is None else vector.value.data & -vector.value.data
    return longest(layout, view.unit_axis, element, limit, ACCESS_BYTES)


def load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.FragmentLoad)
    layout, view = op.layout_over(op.result.type), emitter.view(op.view)
    offsets = [emitter.scalar(v) for v in op.offsets]
    element, length = emitter.element(op.result.type), chunk_length(view, layout, op.vector)
    addresses = Addresses(emitter, view, offsets, layout, is_small(emitter, op.view))
    if op.phased and length > 1:
        from tileopt.backends.nvidia.phased import load_phased

        emitter.define(op.result, load_phased(emitter, op, layout, view, addresses, length))
        return
    words = words_of(element, length)
    fill = padding_words(emitter, op.padding, element_type(op.result.type), length)
    chunks = access_chunks(layout, view, length)
    coords = [layout.register_coords[chunk[0]] for chunk in chunks]
    places = [addresses.at(at) for at in coords]  # before any branch: both paths use them

    cache = None if op.cache is None else op.cache.data

    def make(tested: Sequence[int]) -> list[str]:
        guard = Guard(emitter, layout, offsets, view.extents, tested)
        out: list[str] = []
        for at, (pointer, constant) in zip(coords, places, strict=True):
            condition = guard.condition(at)
            if condition == "false":
                out += fill
                continue
            read_only = not view.type.owned
            out += load_words(emitter, words.type, words.count, pointer, constant, condition, fill, read_only, cache)
        return out

    loaded = by_outcome(emitter, op, layout, offsets, view, make, words.type)
    registers = [""] * layout.registers
    for number, chunk in enumerate(chunks):
        part = loaded[number * words.count : (number + 1) * words.count]
        for register, value in zip(chunk, unpack(emitter, element, length, part), strict=True):
            registers[register] = value
    emitter.define(op.result, registers)


def store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.FragmentStore)
    layout, view = op.layout_over(op.value.type), emitter.view(op.view)
    offsets = [emitter.scalar(v) for v in op.offsets]
    values = registers_of(emitter.fragment(op.value))
    element, length = emitter.element(op.value.type), chunk_length(view, layout, op.vector)
    addresses = Addresses(emitter, view, offsets, layout, is_small(emitter, op.view))
    if op.phased and length > 1:
        from tileopt.backends.nvidia.phased import store_phased

        store_phased(emitter, op, layout, view, addresses, length)
        return
    words = words_of(element, length)
    one = writer(emitter, layout)
    chunks = access_chunks(layout, view, length)
    packed = [pack(emitter, element, [values[r] for r in chunk]) for chunk in chunks]
    coords = [layout.register_coords[chunk[0]] for chunk in chunks]
    places = [addresses.at(at) for at in coords]

    cache = None if op.cache is None else op.cache.data

    def make(tested: Sequence[int]) -> list[str]:
        guard = Guard(emitter, layout, offsets, view.extents, tested)
        for at, part, (pointer, constant) in zip(coords, packed, places, strict=True):
            condition = both(emitter, guard.condition(at), one)
            if condition != "false":
                store_words(emitter, words.type, part, pointer, constant, condition, cache)
        return []

    by_outcome(emitter, op, layout, offsets, view, make, words.type)


def access_chunks(layout: Layout, view: View, length: int) -> tuple[Chunk, ...]:
    axis = view.unit_axis if view.unit_axis is not None else 0
    return chunks_of(layout, axis, length) if layout.shape else ((0,),)


def by_outcome(
    emitter: Emitter,
    op: simt.FragmentLoad | simt.FragmentStore | simt.FragmentAtomic,
    layout: Layout,
    offsets: Sequence[str],
    view: View,
    make: Callable[[Sequence[int]], list[str]],
    type_: str,
) -> list[str]:
    """`make(axes to test)`: once, or on two paths where one test of the whole tile chooses."""
    tested = tested_axes(op.bounds, len(layout.shape))
    outcome = Outcome.MASKED if op.bounds is None else op.bounds.outcome
    if outcome not in (Outcome.HOISTED, Outcome.CHECKED) or not tested:
        return make(tested)
    whole = Guard(emitter, layout, offsets, view.extents, tested).all_inside()
    assert whole is not None, "some axis is tested"
    fast, slow, end = emitter.label("inside"), emitter.label("edge"), emitter.label("end")
    emitter.branch_if(whole, fast, slow)
    if outcome is Outcome.CHECKED:
        emitter.start(slow)
        emitter.line(f"call void {emitter.declare('void @llvm.trap()')}()")
        emitter.line("unreachable")
        emitter.start(fast)
        return make(())
    emitter.start(fast)
    first, from_first = make(()), emitter.block
    emitter.branch(end)
    emitter.start(slow)
    second, from_second = make(tested), emitter.block
    emitter.branch(end)
    emitter.start(end)
    rows = zip(first, second, strict=True)
    return [emitter.assign(f"phi {type_} [ {a}, %{from_first} ], [ {b}, %{from_second} ]") for a, b in rows]


def padding_words(
    emitter: Emitter, padding: FloatAttr | IntegerAttr | None, type_: Attribute, length: int
) -> list[str]:
    """What elements outside the array read as; written in the entry section, where it dominates every use."""
    element = types.llvm_type(type_)
    words = words_of(element, length)
    value = 0 if padding is None else padding.value.data
    if not value and str(float(value)) == "0.0":
        return [zero(words.type)] * words.count
    constant = types.constant_text(value, type_)
    with emitter.in_entry():
        return pack(emitter, element, [constant] * length)


def load_words(
    emitter: Emitter,
    type_: str,
    count: int,
    pointer: str,
    constant: int,
    condition: str | None,
    fill: Sequence[str],
    read_only: bool,
    cache: str | None = None,
) -> list[str]:
    """`count` words from `pointer` + `constant` bytes; `fill` where the condition does not hold. `read_only`: nothing
    writes to the array during the launch. `cache`: see `policies`."""
    size = types.bytes_of(type_)
    if condition is None and cache is None:
        vector = types.vector(count, type_)
        at = offset_pointer(emitter, GLOBAL, pointer, constant)
        tail = f", !invariant.load {empty_metadata(emitter)}" if read_only else ""
        loaded = emitter.assign(f"load {vector}, {GLOBAL} {at}, align {size * count}{tail}")
        if count == 1:
            return [loaded]
        return [emitter.assign(f"extractelement {vector} {loaded}, i32 {i}") for i in range(count)]
    words = words_of(type_, count)
    statement = Statement()
    results = [
        statement.output(words.operand, None if condition is None else as_operand(emitter, words, word))
        for word in fill
    ]
    policy = policy_of(emitter, cache)
    address = statement.pointer(GLOBAL, pointer)
    space = f"global{policy.operator}{'.nc' if read_only else ''}{policy.hint}"
    vector_suffix = f".v{count}" if count > 1 else ""
    text = (
        f"ld.{space}{vector_suffix}.b{8 * size} {braces(results)}, [{address}+{constant}]{policy.operand(statement)};"
    )
    if condition is not None:
        text = f"@{statement.predicate(condition)} {text}"
    loaded_words = statement.emit(emitter, text, PURE if read_only else "", effects=not read_only)
    return [from_operand(emitter, words, w) for w in loaded_words]


def store_words(
    emitter: Emitter,
    type_: str,
    values: Sequence[str],
    pointer: str,
    constant: int,
    condition: str | None,
    cache: str | None = None,
) -> None:
    """Writes words to `pointer` + `constant` bytes where the condition holds. `cache`: see `policies`."""
    count, size = len(values), types.bytes_of(type_)
    if condition is None and cache is None:
        vector, value = types.vector(count, type_), values[0]
        if count > 1:
            value = "poison"
            for lane, word in enumerate(values):
                value = emitter.assign(f"insertelement {vector} {value}, {type_} {word}, i32 {lane}")
        at = offset_pointer(emitter, GLOBAL, pointer, constant)
        emitter.line(f"store {vector} {value}, {GLOBAL} {at}, align {size * count}")
        return
    words = words_of(type_, count)
    statement, policy = Statement(), policy_of(emitter, cache)
    address = statement.pointer(GLOBAL, pointer)
    operands = [statement.word(words.operand, as_operand(emitter, words, w)) for w in values]
    space = f"global{policy.operator}{policy.hint}{f'.v{count}' if count > 1 else ''}"
    text = f"st.{space}.b{8 * size} [{address}+{constant}], {braces(operands)}{policy.operand(statement)};"
    if condition is not None:
        text = f"@{statement.predicate(condition)} {text}"
    statement.emit(emitter, text, effects=True)


def offset_pointer(emitter: Emitter, space: str, pointer: str, constant: int) -> str:
    """`pointer` moved by a constant number of bytes."""
    if not constant:
        return pointer
    return emitter.assign(f"getelementptr i8, {space} {pointer}, i64 {constant}")


def empty_metadata(emitter: Emitter) -> str:
    """The module's empty metadata node."""
    return emitter.output.node("!{}")


HANDLERS: dict[type[Operation], Handler] = {simt.FragmentLoad: load, simt.FragmentStore: store}
