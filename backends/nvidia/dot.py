"""`simt.dot` on a GPU: a loop over K in steps of a few elements, operands by wide loads from shared memory.

One address a thread and step: a step's part of an address joins the thread's as the bits of a larger thread id would
(see `shared_index`), so that what is left are constants. Products that this does not fit (phantoms, swizzles over
strides that are no powers of two, odd K) take the implementation that all targets share.
"""

from __future__ import annotations

from xdsl.dialects.builtin import Float32Type, IntegerType
from xdsl.ir import Attribute, Operation

from tileopt.backends.llvm import dot as shared_dot
from tileopt.backends.llvm import types
from tileopt.backends.llvm.arith import native
from tileopt.backends.llvm.convert import convert_chunk
from tileopt.backends.llvm.coords import phantom_axes
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.values import Buffer
from tileopt.backends.nvidia.chunks import registers_of
from tileopt.backends.nvidia.shared import load_shared
from tileopt.backends.nvidia.shared_index import SHARED, buffer_align, index_map, sum_terms, together, xor_terms
from tileopt.backends.nvidia.words import unpack, words_of
from tileopt.dialects import simt
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.layout import Coord, Layout, pow2_divisor

MOST_UNROLLED = 4
ACCESS_BYTES = 16


class Operand:
    """A (axis 0 of the accumulators) or B (axis 1) during one step of the loop over K."""

    def __init__(
        self,
        emitter: Emitter,
        buffer: Buffer,
        layout: Layout,
        axis: int,
        unroll: int,
        result: Attribute,
        signed: bool,
    ) -> None:
        self.emitter = emitter
        self.buffer = buffer
        self.axis = axis
        self.unroll = unroll
        self.result = result
        self.signed = signed
        self.shared = buffer.type.shared_layout
        self.element = emitter.element(buffer.type.element_type)
        self.size = types.bytes_of(self.element)
        self.places = tuple(sorted({at[axis] for at in layout.register_coords}))
        depth = self.shared.shape[1 - axis]
        threads = tuple(self._coord(basis[axis], 0) for basis in (*layout.lanes, *layout.warps))
        steps = tuple(self._coord(0, unroll << bit) for bit in range((depth // unroll - 1).bit_length()))
        self.thread_map = index_map(self.shared, threads, self.size)
        self.map = index_map(self.shared, (*threads, *steps), self.size)
        self.step_parts = self.map.thread_parts[len(threads) :]
        self.length = self._length()
        self.offset = "0"
        self.bases: dict[int, str] = {}
        self.values: dict[tuple[int, int], str] = {}

    def _coord(self, place: int, k: int) -> Coord:
        return (place, k) if self.axis == 0 else (k, place)

    def begin(self, step: str) -> None:
        """Starts the step of this number: addresses are computed once more."""
        emitter, linear = self.emitter, self.map.is_linear
        terms, join = (xor_terms, "xor") if linear else (sum_terms, "add")
        source = emitter.backend.thread_id(emitter)
        thread = emitter.once(
            ("shared offset", self.thread_map, 0), lambda: terms(emitter, source, self.thread_map.thread_parts)
        )
        moved = terms(emitter, step, self.step_parts)
        if "0" in (thread, moved):
            self.offset = moved if thread == "0" else thread
        else:
            self.offset = emitter.assign(f"{join} i32 {thread}, {moved}")
        self.bases, self.values = {}, {}

    def _pointer(self, at: Coord) -> tuple[str, int]:
        flip, constant = self.map.split(at) if self.map.is_linear else (0, self.map.part(at))
        if flip not in self.bases:
            offset = self.emitter.assign(f"xor i32 {self.offset}, {flip}") if flip else self.offset
            base = self.buffer.pointer
            self.bases[flip] = self.emitter.assign(f"getelementptr i8, {SHARED} {base}, i32 {offset}")
        return self.bases[flip], constant

    def _length(self) -> int:
        """Elements that one load brings, along the axis that is contiguous in memory."""
        limit = max(1, min(ACCESS_BYTES, buffer_align(self.buffer)) // self.size)
        fast = self.shared.order[-1]
        limit = min(limit, together(self.shared), pow2_divisor(self.shared.shape[fast]))
        if self.shared.shape[1 - fast] > 1:
            limit = min(limit, pow2_divisor(self.shared.strides[1 - fast]))
        if fast != self.axis:
            return min(limit, self.unroll)
        while limit > 1 and not self._runs(limit):
            limit //= 2
        return limit

    def _runs(self, length: int) -> bool:
        """Whether the places come in aligned runs of this length."""
        held = set(self.places)
        return all(set(range(p & -length, (p & -length) + length)) <= held for p in self.places)

    def value(self, place: int, k: int) -> str:
        """The element at a place of the thread, `k` elements into the step, in the accumulator's type."""
        if (place, k) not in self.values:
            length = self.length
            along_k = self.shared.order[-1] != self.axis
            first = (place, k & -length) if along_k else (place & -length, k)
            pointer, constant = self._pointer(self._coord(*first))
            words = words_of(self.element, length)
            loaded = unpack(
                self.emitter, self.element, length, load_shared(self.emitter, words, pointer, constant, None)
            )
            for number, value in enumerate(loaded):
                at = (first[0], first[1] + number) if along_k else (first[0] + number, first[1])
                source = self.buffer.type.element_type
                self.values[at] = convert_chunk(self.emitter, value, 1, source, self.result, self.signed)
        return self.values[place, k]


def _unroll(depth: int) -> int:
    return min(MOST_UNROLLED, pow2_divisor(depth))


def fits(a: Buffer, b: Buffer, layout: Layout, depth: int) -> bool:
    """Whether this implementation can compute the product."""
    if phantom_axes(layout) or _unroll(depth) < 2:
        return False
    for buffer in (a, b):
        shared = buffer.type.shared_layout
        if shared.bits and not index_map(shared, (), 1).is_linear:
            return False
    return True


def dot(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.Dot)
    a, b = emitter.buffer(op.a), emitter.buffer(op.b)
    (rows, depth), (_, columns) = a.type.get_shape(), b.type.get_shape()
    layout = simt.fragment_layout(op.layout, (rows, columns), op.acc.type)
    if not fits(a, b, layout, depth):
        shared_dot.dot(emitter, op)
        return
    type_ = element_type(op.acc.type)
    inner = type_ if isinstance(type_, IntegerType) or native(emitter, type_) else Float32Type()
    unroll = _unroll(depth)
    left, right = (
        Operand(emitter, one, layout, axis, unroll, inner, op.unsigned is None) for axis, one in enumerate((a, b))
    )
    start = [convert_chunk(emitter, r, 1, type_, inner) for r in registers_of(emitter.fragment(op.acc))]
    total = _loop(emitter, start, layout, left, right, depth // unroll, inner)
    emitter.define(op.result, [convert_chunk(emitter, r, 1, inner, type_) for r in total])


def _loop(
    emitter: Emitter, start: list[str], layout: Layout, left: Operand, right: Operand, steps: int, inner: Attribute
) -> list[str]:
    element = types.llvm_type(inner)
    head, done, before = emitter.label("k"), emitter.label("done"), emitter.block
    emitter.branch(head)
    emitter.start(head)
    step, step_line = emitter.fresh(), emitter.reserve()
    phis = [(emitter.fresh(), emitter.reserve()) for _ in start]
    total = [name for name, _ in phis]
    left.begin(step)
    right.begin(step)
    for k in range(left.unroll):
        for register, at in enumerate(layout.register_coords):
            x, y = left.value(at[0], k), right.value(at[1], k)
            total[register] = _multiply_add(emitter, inner, x, y, total[register])
    following = emitter.assign(f"add nuw nsw i32 {step}, 1")
    more = emitter.assign(f"icmp ult i32 {following}, {steps}")
    emitter.branch_if(more, head, done)
    emitter.fill(step_line, f"{step} = phi i32 [ 0, %{before} ], [ {following}, %{head} ]")
    for (name, line), first, later in zip(phis, start, total, strict=True):
        emitter.fill(line, f"{name} = phi {element} [ {first}, %{before} ], [ {later}, %{head} ]")
    emitter.start(done)
    return total


def _multiply_add(emitter: Emitter, inner: Attribute, a: str, b: str, total: str) -> str:
    element = types.llvm_type(inner)
    if not isinstance(inner, IntegerType):
        return emitter.intrinsic("llvm.fma", 1, element, a, b, total)
    return emitter.assign(f"add {element} {total}, {emitter.assign(f'mul {element} {a}, {b}')}")


HANDLERS: dict[type[Operation], Handler] = {simt.Dot: dot}
