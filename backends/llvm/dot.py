"""`simt.dot`: acc + a @ b by fused multiply-adds, operands in shared memory, accumulators in registers.

A rolled loop over K. One axis of the accumulators goes along vector lanes, that along which an operand lies side by
side in memory; the elements of the other operand are broadcast. Each step reads rows + columns elements and combines
rows x columns. Accumulators narrower than what the target computes in are kept in f32 and rounded once at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type, IntegerType
from xdsl.ir import Attribute, Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.arith import native
from tileopt.backends.llvm.convert import convert_chunk
from tileopt.backends.llvm.coords import phantom_axes, thread_coord, thread_span
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.registers import broadcast, extract, from_scalars, join, pick
from tileopt.backends.llvm.shared import add, axis_index, element_pointer, stays_together
from tileopt.backends.llvm.values import Buffer, Fragment
from tileopt.dialects import simt
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.layout import Layout

F32 = Float32Type()


@dataclass
class _Side:
    """One operand: `axis` of the accumulators that it brings, its places along that axis, how it lies in memory."""

    emitter: Emitter
    buffer: Buffer
    layout: Layout
    axis: int
    result: Attribute  # element type to convert to
    signed: bool

    def __post_init__(self) -> None:
        self.places = tuple(sorted({at[self.axis] for at in self.layout.register_coords}))
        self.source = self.buffer.type.element_type
        self.element = self.emitter.element(self.source)
        shared = self.buffer.type.shared_layout
        self.contiguous = shared.order[-1] == self.axis
        self.thread = thread_coord(self.emitter, self.layout, self.axis)

    def run(self, width: int) -> int:
        """Places side by side in memory that start at a multiple of their number: a divisor of `width`."""
        shared, run = self.buffer.type.shared_layout, width & -width
        if not self.contiguous:
            return 1
        while run > 1:
            starts = range(0, len(self.places), run)
            together = all(
                self.places[s] % run == 0 and self.places[s + run - 1] == self.places[s] + run - 1 for s in starts
            )
            if together and stays_together(shared, run) and not self.maybe_phantom(run):
                return run
            run //= 2
        return 1

    def maybe_phantom(self, run: int) -> bool:
        """Whether a run may reach over the edge of the buffer, in part."""
        return self.axis in phantom_axes(self.layout) and self.layout.shape[self.axis] % run != 0

    def index(self, place: int, run: int) -> str:
        """Element index at k = 0 of the run that begins at a place, an i32; phantoms read the last run instead."""
        emitter, extent = self.emitter, self.layout.shape[self.axis]
        at = self.thread
        if place or at == "0":
            at = str(place) if at == "0" else emitter.assign(f"add i32 {at}, {place}")
        if self.axis in phantom_axes(self.layout) and place + thread_span(self.layout, self.axis) >= extent:
            at = emitter.intrinsic("llvm.umin", 1, "i32", at, str(extent - run))
        return axis_index(emitter, self.buffer.type.shared_layout, self.axis, at)

    def step(self, k: str) -> str:
        """What k adds to an element index."""
        return axis_index(self.emitter, self.buffer.type.shared_layout, 1 - self.axis, k)

    def read(self, index: str, step: str, run: int) -> Fragment:
        """`run` elements from an index on, `step` elements further for the present k, converted."""
        emitter = self.emitter
        pointer = element_pointer(emitter, self.buffer, add(emitter, index, step))
        memory, size = types.memory_type(self.element), types.bytes_of(self.element)
        k_stride = self.buffer.type.shared_layout.strides[1 - self.axis]
        aligned = run * size if k_stride % run == 0 else size
        align = min(aligned & -aligned, self.buffer.align) if run > 1 else size
        space = emitter.backend.shared_pointer
        value = emitter.assign(f"load {types.vector(run, memory)}, {space} {pointer}, align {align}")
        value = convert_chunk(emitter, value, run, self.source, self.result, self.signed)
        return Fragment(types.llvm_type(self.result), run, (value,))


def _sides(
    emitter: Emitter, a: Buffer, b: Buffer, layout: Layout, inner: Attribute, signed: bool
) -> tuple[_Side, _Side]:
    """(the operand whose elements are broadcast, the one whose elements fill vectors)."""
    rows, columns = (_Side(emitter, one, layout, axis, inner, signed) for axis, one in enumerate((a, b)))
    if rows.run(len(rows.places)) > columns.run(len(columns.places)):
        return columns, rows
    return rows, columns


def dot(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.Dot)
    a, b, acc = emitter.buffer(op.a), emitter.buffer(op.b), emitter.fragment(op.acc)
    (rows, depth), (_, columns) = a.type.get_shape(), b.type.get_shape()
    layout = simt.fragment_layout(op.layout, (rows, columns), op.acc.type)
    type_ = element_type(op.acc.type)
    inner = type_ if isinstance(type_, IntegerType) or native(emitter, type_) else F32
    single, lanes = _sides(emitter, a, b, layout, inner, op.unsigned is None)
    width = emitter.backend.chunk_width(len(lanes.places))
    register_at = {(at[single.axis], at[lanes.axis]): r for r, at in enumerate(layout.register_coords)}
    order = [register_at[s, v] for s in single.places for v in lanes.places]
    start = pick(emitter, acc, order, width)
    start = _converted(emitter, start, type_, inner)
    total = _loop(emitter, start, depth, single, lanes, inner)
    total = _converted(emitter, total, inner, type_)
    back = [0] * len(order)
    for position, register in enumerate(order):
        back[register] = position
    emitter.values[op.result] = pick(emitter, total, back)


def _converted(emitter: Emitter, value: Fragment, source: Attribute, result: Attribute) -> Fragment:
    chunks = tuple(convert_chunk(emitter, c, value.width, source, result) for c in value.chunks)
    return Fragment(types.llvm_type(result), value.width, chunks)


def _loop(emitter: Emitter, start: Fragment, depth: int, single: _Side, lanes: _Side, inner: Attribute) -> Fragment:
    width, run = start.width, lanes.run(len(lanes.places))
    single_at = [single.index(place, 1) for place in single.places]
    lane_at = [lanes.index(place, run) for place in lanes.places[::run]]
    head, done, before = emitter.label("k"), emitter.label("done"), emitter.block
    emitter.branch(head)
    emitter.start(head)
    k, k_line = emitter.fresh(), emitter.reserve()
    phis = [(emitter.fresh(), emitter.reserve()) for _ in start.chunks]
    steps = [side.step(k) for side in (single, lanes)]
    vectors = _vectors(emitter, lanes, lane_at, steps[1], run, width)
    out: list[str] = []
    for number, index in enumerate(single_at):
        scalar = single.read(index, steps[0], 1).chunks[0]
        factor = broadcast(emitter, start.element, width, scalar)
        for place, vector in enumerate(vectors):
            total = phis[number * len(vectors) + place][0]
            out.append(_multiply_add(emitter, inner, width, factor, vector, total))
    following = emitter.assign(f"add nuw nsw i32 {k}, 1")
    more = emitter.assign(f"icmp ult i32 {following}, {depth}")
    emitter.branch_if(more, head, done)
    emitter.fill(k_line, f"{k} = phi i32 [ 0, %{before} ], [ {following}, %{head} ]")
    for (name, line), first, later in zip(phis, start.chunks, out, strict=True):
        emitter.fill(line, f"{name} = phi {start.type} [ {first}, %{before} ], [ {later}, %{head} ]")
    emitter.start(done)
    return Fragment(start.element, width, tuple(out))


def _vectors(emitter: Emitter, lanes: _Side, at: list[str], step: str, run: int, width: int) -> list[str]:
    """The elements of the vector operand at the present k, in chunks of `width`."""
    parts = [lanes.read(index, step, run) for index in at]
    if run >= width:
        return [
            extract(emitter, p, r) if width == 1 else _slice(emitter, p, r, width)
            for p in parts
            for r in _starts(run, width)
        ]
    each = width // run
    groups = [parts[i : i + each] for i in range(0, len(parts), each)]
    if run == 1:
        return [c for g in groups for c in from_scalars(emitter, g[0].element, [p.chunks[0] for p in g], width).chunks]
    return [join(emitter, g[0].element, run, [p.chunks[0] for p in g]) for g in groups]


def _starts(run: int, width: int) -> range:
    return range(0, run, width)


def _slice(emitter: Emitter, source: Fragment, start: int, width: int) -> str:
    return pick(emitter, source, range(start, start + width), width).chunks[0]


def _multiply_add(emitter: Emitter, inner: Attribute, width: int, a: str, b: str, total: str) -> str:
    element = types.llvm_type(inner)
    if not isinstance(inner, IntegerType):
        return emitter.intrinsic("llvm.fma", width, element, a, b, total)
    type_ = types.vector(width, element)
    product = emitter.assign(f"mul {type_} {a}, {b}")
    return emitter.assign(f"add {type_} {total}, {product}")


HANDLERS: dict[type[Operation], Handler] = {simt.Dot: dot}
