"""Accumulators of tiles in tensor memory: `tcgen05.mma` as often as a tile needs, and fragments from and to its lanes.

See `tcgen05` for the words of one instruction, and `dialects.gpu_accumulator` for where a tile's elements lie.
"""

from __future__ import annotations

from itertools import groupby, product

from xdsl.ir import Operation, SSAValue

from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.nvidia.atoms.tcgen05 import INSTRUCTIONS
from tileopt.backends.nvidia.chunks import registers_of
from tileopt.backends.nvidia.features import need
from tileopt.backends.nvidia.ptx import Statement
from tileopt.backends.nvidia.tcgen05 import GROUP, lane_bits, operand_descriptor
from tileopt.backends.nvidia.wgmma import Described, moved
from tileopt.dialects import gpu_accumulator as gpu
from tileopt.dialects.diagnostics import CompileError, TargetError
from tileopt.dialects.gpu_tensor import LANES
from tileopt.dialects.layout import Layout
from tileopt.dialects.target import Feature, target_of

_AFTER, _BEFORE = "tcgen05.fence::after_thread_sync;", "tcgen05.fence::before_thread_sync;"
_CONVERGENT = "convergent nounwind"
# Of one instruction: ptxas holds each to the registers that threads begin with, whatever `setmaxnreg` gives later (its
# message C7602).
WORDS = 32


def accumulator(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.Accumulator)
    need(op, Feature.TCGEN05)
    if op.base is None or op.start is None:
        raise CompileError("gpu/accumulator", "this accumulator has no columns yet; run lower-accumulators before")
    start = op.start.value.data
    base = emitter.scalar(op.base)
    emitter.values[op.result] = base if not start else emitter.assign(f"add i32 {base}, {start}")


def accumulate(emitter: Emitter, op: Operation) -> None:
    """One accumulator's steps follow one another; the unit takes them in the order in which they are issued."""
    assert isinstance(op, gpu.Accumulate)
    need(op, Feature.TCGEN05)
    instruction = INSTRUCTIONS.get(op.atom.data)
    if instruction is None or all(atom.name != op.atom.data for atom in target_of(op).atoms):
        raise TargetError("target/unknown-atom", f"'{op.atom.data}' is no tcgen05.mma instruction of this target")
    m, n, k = op.extents
    places = [Described(type_, axis) for type_, axis in zip(op.operands_types, (1, 0), strict=True)]
    a_places, b_places = places
    if not instruction.transposes and not (a_places.k_major and b_places.k_major):
        raise CompileError("gpu/descriptor", f"operands of kind::{instruction.kind} lie with K side by side")
    bits = instruction.descriptor(not a_places.k_major, not b_places.k_major)
    first, begin, end = emitter.backend.thread_id(emitter), emitter.label("issue"), emitter.label("issued")
    emitter.branch_if(emitter.assign(f"icmp eq i32 {first}, 0"), begin, end)
    emitter.start(begin)
    d = emitter.scalar(op.accumulator)
    a_base, b_base = (operand_descriptor(emitter, v, p) for v, p in zip((op.a, op.b), places, strict=True))
    Statement().emit(emitter, _AFTER, "nounwind", effects=True)
    for row, column in product(range(m // LANES), range(n // instruction.n)):
        at = row * n + column * instruction.n
        columns = d if not at else emitter.assign(f"add i32 {d}, {at}")
        for step in range(k // instruction.depth):
            depth = step * instruction.depth
            statement = Statement()
            place = statement.word("i32", columns)
            a = statement.word("i64", moved(emitter, a_base, a_places.offset(row * LANES, depth)))
            b = statement.word("i64", moved(emitter, b_base, b_places.offset(column * instruction.n, depth)))
            form = statement.word("i32", str(bits))
            keep = statement.predicate("true" if step or op.fresh is None else "false")
            text = f"tcgen05.mma.{GROUP}.kind::{instruction.kind} [{place}], {a}, {b}, {form}, {keep};"
            statement.emit(emitter, text, "nounwind", effects=True)
    emitter.branch(end)
    emitter.start(end)


def _address(emitter: Emitter, value: SSAValue, layout: Layout) -> str:
    """Where a thread's part of a tile begins: its warp's lanes, and the columns of what lies beyond a warpgroup's."""
    address = emitter.assign(f"or i32 {emitter.scalar(value)}, {lane_bits(emitter)}")
    n = layout.shape[1]
    for bit, (row, column) in enumerate(layout.warps[2:], 2):
        step = row // LANES * n + column
        if step:
            warp = emitter.assign(f"lshr i32 {emitter.backend.thread_id(emitter)}, {5 + bit}")
            mine = emitter.assign(f"and i32 {warp}, 1")
            address = emitter.assign(f"add i32 {address}, {emitter.assign(f'mul i32 {mine}, {step}')}")
    return address


def runs(layout: Layout) -> list[tuple[int, int, int]]:
    """(first register, column, count) of what one instruction moves: registers in order, columns side by side."""
    n = layout.shape[1]
    columns = [row // LANES * n + column for row, column in layout.register_coords]
    out: list[tuple[int, int, int]] = []
    for _, group in groupby(enumerate(columns), lambda pair: pair[1] - pair[0]):
        side_by_side = list(group)
        while side_by_side:
            count = min(WORDS, 1 << (len(side_by_side).bit_length() - 1))
            out.append((*side_by_side[0], count))
            side_by_side = side_by_side[count:]
    return out


def load(emitter: Emitter, op: Operation) -> None:
    """All instructions and the wait for them are one statement: nothing reads a register before."""
    assert isinstance(op, gpu.AccumulatorLoad)
    need(op, Feature.TCGEN05)
    layout = op.layout.over(op.extents)
    statement = Statement()
    names = [statement.output("i32") for _ in range(layout.registers)]
    address = statement.word("i32", _address(emitter, op.accumulator, layout))
    parts = [
        f"tcgen05.ld.sync.aligned.32x32b.x{count}.b32 {{{', '.join(names[first : first + count])}}}, "
        f"[{address}+{column}];"
        for first, column, count in runs(layout)
    ]
    text = " ".join([_AFTER, *parts, "tcgen05.wait::ld.sync.aligned;", _BEFORE])
    words = statement.emit(emitter, text, _CONVERGENT, effects=True)
    element = emitter.element(op.result.type)
    if element != "i32":
        words = [emitter.assign(f"bitcast i32 {word} to {element}") for word in words]
    emitter.define(op.result, words)


def store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.AccumulatorStore)
    need(op, Feature.TCGEN05)
    layout = op.layout.over(op.extents)
    element = emitter.element(op.value.type)
    words = list(registers_of(emitter.fragment(op.value)))
    if element != "i32":
        words = [emitter.assign(f"bitcast {element} {word} to i32") for word in words]
    statement = Statement()
    address = statement.word("i32", _address(emitter, op.accumulator, layout))
    names = [statement.word("i32", word) for word in words]
    parts = [
        f"tcgen05.st.sync.aligned.32x32b.x{count}.b32 [{address}+{column}], "
        f"{{{', '.join(names[first : first + count])}}};"
        for first, column, count in runs(layout)
    ]
    text = " ".join([_AFTER, *parts, "tcgen05.wait::st.sync.aligned;", _BEFORE])
    statement.emit(emitter, text, _CONVERGENT, effects=True)


HANDLERS: dict[type[Operation], Handler] = {
    gpu.Accumulator: accumulator,
    gpu.Accumulate: accumulate,
    gpu.AccumulatorLoad: load,
    gpu.AccumulatorStore: store,
}
