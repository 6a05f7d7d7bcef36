"""Runs of shuffles and elementwise ops on few registers: all lanes of a warp in one vector, a shuffle is a permutation.

That is how reductions across lanes look. A run is a phase of its own: what it uses lies in the threads' places, which
stand side by side, so that one vector holds the registers of a warp, lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.registers import shuffle
from tileopt.backends.llvm.values import Fragment
from tileopt.dialects import simt
from tileopt.dialects.layout import WARP_SIZE

if TYPE_CHECKING:
    from tileopt.backends.cpu.phases import PhaseEmitter

MOST_REGISTERS = 4
_ELEMENTWISE: frozenset[type[Operation]] = frozenset(
    (
        arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.MaximumfOp, arith.MinimumfOp, arith.MaxnumfOp, arith.MinnumfOp,
        arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.MaxSIOp, arith.MinSIOp,
        arith.MaxUIOp, arith.MinUIOp, arith.CmpiOp, arith.CmpfOp, arith.SelectOp,
    )
)  # fmt: skip


def registers(type_: Attribute) -> int:
    """Registers of a small fragment; 0 for any other value."""
    if not isinstance(type_, VectorType):
        return 0
    count = type_.get_shape()[0]
    return count if count <= MOST_REGISTERS else 0


def fits(op: Operation) -> bool:
    """Whether an op may be part of a run."""
    if not isinstance(op, simt.ShuffleXor) and type(op) not in _ELEMENTWISE:
        return False
    count = registers(op.results[0].type)
    return count > 0 and all(registers(v.type) == count for v in op.operands)


def emit_run(emitter: PhaseEmitter, run: Sequence[Operation]) -> None:
    """A run as a loop over the warps."""
    head, done, before = emitter.label("warp"), emitter.label("done"), emitter.block
    emitter.branch(head)
    emitter.start(head)
    first = f"%{head}.first"
    emitter.line(f"{first} = phi i32 [ 0, %{before} ], [ %{head}.next, %{head} ]")
    emitter.tid = first
    emitter.lanes = True
    for value in emitter.plan.needs.get(emitter.number, ()):
        emitter.values[value] = _all_lanes(emitter, emitter.read_lanes(value), value.type)
    for op in run:
        if isinstance(op, simt.ShuffleXor):
            _permute(emitter, op)
        else:
            emitter.emit_op(op)
        if op.results[0] in emitter.plan.crossing:
            emitter.write_lanes(op.results[0])
    emitter.lanes = False
    emitter.line(f"%{head}.next = add nuw nsw i32 {first}, {WARP_SIZE}")
    emitter.line(f"%{head}.more = icmp ult i32 %{head}.next, {emitter.threads}")
    emitter.branch_if(f"%{head}.more", head, done)
    emitter.start(done)


def _all_lanes(emitter: PhaseEmitter, vector: str, type_: Attribute) -> Fragment:
    return Fragment(emitter.element(type_), WARP_SIZE * registers(type_), (vector,))


def _permute(emitter: PhaseEmitter, op: simt.ShuffleXor) -> None:
    source, count = emitter.fragment(op.source), registers(op.source.type)
    mask = [(lane ^ op.mask.value.data) * count + r for lane in range(WARP_SIZE) for r in range(count)]
    (chunk,) = source.chunks
    vector = shuffle(emitter, types.vector(source.width, source.element), chunk, "poison", mask)
    emitter.values[op.result] = _all_lanes(emitter, vector, op.result.type)
