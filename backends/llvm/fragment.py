"""Ops that stay within one thread's fragment: splat, coordinates, selection of registers, reduction of registers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from xdsl.dialects.builtin import Float8E4M3FNType, Float8E8M0FNUType, IntegerType
from xdsl.ir import Attribute, Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.arith import F32, flags, native
from tileopt.backends.llvm.convert import convert_chunk
from tileopt.backends.llvm.coords import phantom_axes, thread_coord, thread_coord_i64, thread_span
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.registers import add_constants, broadcast, extract, from_scalars, pick, scalars
from tileopt.backends.llvm.values import Fragment
from tileopt.dialects import simt
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.layout import Layout
from tileopt.dialects.tile import ReduceKind

Combine = Callable[[str, str, int], str]  # (a, b, width of the chunks) -> result


def splat(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.Splat)
    element, width = emitter.element(op.result.type), emitter.width_of(op.result.type)
    (registers,) = op.result.type.get_shape()
    chunk = broadcast(emitter, element, width, emitter.scalar(op.value))
    emitter.define(op.result, [chunk] * (registers // width))


def coord(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.FragmentCoord)
    layout, axis = op.layout_over(op.result.type), op.axis.value.data
    element = emitter.element(op.result.type)
    if element not in ("i32", "i64"):
        raise emitter.unsupported(op, "a coordinate is i32 or i64")
    make = thread_coord if element == "i32" else thread_coord_i64
    offsets = [at[axis] for at in layout.register_coords]
    emitter.define(op.result, add_constants(emitter, element, make(emitter, layout, axis), offsets))


def select(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.FragmentSelect)
    emitter.values[op.result] = pick(emitter, emitter.fragment(op.source), simt.shape_of(op.registers))


def extract_(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.Extract)
    emitter.values[op.result] = extract(emitter, emitter.fragment(op.source), op.register.value.data)


def shift_in(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.ShiftIn)
    source, new = emitter.fragment(op.source), [emitter.scalar(v) for v in op.values]
    kept = [extract(emitter, source, r) for r in range(len(new), source.registers)]
    emitter.values[op.result] = from_scalars(emitter, source.element, kept + new)


@lru_cache(maxsize=256)
def reduction_order(layout: Layout, axis: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """How a reduction along `axis` reads a fragment: (registers, their coordinates along `axis`, results).

    The registers stand in columns, one for each coordinate along `axis` in rising order; a column has one register for
    each result. Registers that are phantoms along `axis` in every thread are left out.
    """
    left = layout.drop_axis(axis)
    results = {at: q for q, at in enumerate(left.register_coords)}
    columns: dict[int, dict[int, int]] = {}
    for register, at in enumerate(layout.register_coords):
        if at[axis] < layout.shape[axis]:
            columns.setdefault(at[axis], {})[results[at[:axis] + at[axis + 1 :]]] = register
    registers: list[int] = []
    coordinates: list[int] = []
    for coordinate in sorted(columns):
        registers += [columns[coordinate][q] for q in range(left.registers)]
        coordinates += [coordinate] * left.registers
    return tuple(registers), tuple(coordinates), left.registers


def identity(kind: str, type_: Attribute) -> float | int:
    """The value that changes nothing: what phantoms count as."""
    if isinstance(type_, IntegerType):
        width = type_.width.data
        least = -(1 << (width - 1))
        identities: dict[str, int] = {"prod": 1, "max": least, "min": ~least, "umin": -1, "and": -1}
        return identities.get(kind, 0)
    if isinstance(type_, Float8E8M0FNUType):  # no infinity, no negative numbers
        return {"prod": 1.0, "max": 2.0**-127, "min": 2.0**127}.get(kind, -0.0)
    # f8e4m3fn has no infinity.
    infinity = 448.0 if isinstance(type_, Float8E4M3FNType) else float("inf")
    return {"prod": 1.0, "max": -infinity, "min": infinity}.get(kind, -0.0)


_INSTRUCTIONS = {"sum": "add", "prod": "mul", "and": "and", "or": "or", "xor": "xor"}
_INTRINSICS = {"max": "llvm.smax", "min": "llvm.smin", "umax": "llvm.umax", "umin": "llvm.umin"}
_BOOLS = {"max": "or", "min": "and", "umax": "or", "umin": "and", "sum": "or", "prod": "and"}


def combiner(emitter: Emitter, kind: str, type_: Attribute, *, contract: bool = True) -> Combine:
    """What combines two chunks of element type `type_` (which the target computes in). `contract`: as the kernel says,
    a sum may be fused with the products that it adds."""
    element = types.llvm_type(type_)
    if not isinstance(type_, IntegerType):
        if kind in ("max", "min"):
            name = "llvm.maximum" if kind == "max" else "llvm.minimum"
            return lambda a, b, width: emitter.intrinsic(name, width, element, a, b)
        words = f"f{_INSTRUCTIONS[kind]} {flags(emitter) if contract else ''}"
        return lambda a, b, width: emitter.assign(f"{words}{types.vector(width, element)} {a}, {b}")
    if kind in _INTRINSICS and element != "i1":
        return lambda a, b, width: emitter.intrinsic(_INTRINSICS[kind], width, element, a, b)
    word = _BOOLS.get(kind, kind) if element == "i1" else _INSTRUCTIONS[kind]
    return lambda a, b, width: emitter.assign(f"{word} {types.vector(width, element)} {a}, {b}")


def fold(emitter: Emitter, source: Fragment, results: int, combine: Combine) -> Fragment:
    """Combines columns of `results` registers by halves: the first column with the one half-way on, and so on.

    The order is the same for every width of chunks.
    """
    columns = source.registers // results
    while columns > 1:
        half = columns // 2
        low = pick(emitter, source, range(half * results))
        high = pick(emitter, source, range(half * results, 2 * half * results))
        pairs = zip(low.chunks, high.chunks, strict=True)
        folded = Fragment(low.element, low.width, tuple(combine(a, b, low.width) for a, b in pairs))
        if columns % 2:
            rest = pick(emitter, source, range(2 * half * results, columns * results))
            folded = from_scalars(emitter, source.element, scalars(emitter, folded) + scalars(emitter, rest))
        source, columns = folded, half + columns % 2
    return source


def reduce(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.FragmentReduce)
    layout, axis, kind = op.layout_over(op.source.type), op.axis.value.data, op.kind.data
    type_ = element_type(op.source.type)
    if not isinstance(type_, IntegerType) and kind not in ("sum", "prod", "max", "min"):
        raise emitter.unsupported(op, f"'{ReduceKind(kind)}' does not reduce {type_}")
    inner = type_ if isinstance(type_, IntegerType) or native(emitter, type_) else F32
    registers, coordinates, results = reduction_order(layout, axis)
    source = pick(emitter, emitter.fragment(op.source), registers)
    source = _converted(emitter, source, type_, inner)
    source = _without_phantoms(emitter, source, layout, axis, coordinates, identity(kind, type_), inner)
    out = fold(emitter, source, results, combiner(emitter, kind, inner))
    emitter.values[op.result] = _converted(emitter, out, inner, type_)


def _converted(emitter: Emitter, value: Fragment, source: Attribute, result: Attribute) -> Fragment:
    if source == result:
        return value
    chunks = tuple(convert_chunk(emitter, c, value.width, source, result) for c in value.chunks)
    return Fragment(types.llvm_type(result), value.width, chunks)


def _without_phantoms(
    emitter: Emitter,
    source: Fragment,
    layout: Layout,
    axis: int,
    coordinates: tuple[int, ...],
    neutral: float | int,
    type_: Attribute,
) -> Fragment:
    """Registers that are phantoms along `axis` in this thread become `neutral`."""
    extent, span = layout.shape[axis], thread_span(layout, axis)
    if axis not in phantom_axes(layout) or max(coordinates) + span < extent:
        return source
    thread = broadcast(emitter, "i32", source.width, thread_coord(emitter, layout, axis))
    index, bools = types.vector(source.width, "i32"), types.vector(source.width, "i1")
    fill = types.splat(source.width, source.element, types.constant_text(neutral, type_))
    chunks: list[str] = []
    for number, chunk in enumerate(source.chunks):
        part = coordinates[number * source.width : (number + 1) * source.width]
        if max(part) + span >= extent:
            room = types.vector_constant("i32", [str(extent - c) for c in part])
            inside = emitter.assign(f"icmp ult {index} {thread}, {room}")
            chunk = emitter.assign(f"select {bools} {inside}, {source.type} {chunk}, {source.type} {fill}")
        chunks.append(chunk)
    return Fragment(source.element, source.width, tuple(chunks))


HANDLERS: dict[type[Operation], Handler] = {
    simt.Splat: splat,
    simt.FragmentCoord: coord,
    simt.FragmentSelect: select,
    simt.Extract: extract_,
    simt.ShiftIn: shift_in,
    simt.FragmentReduce: reduce,
}
