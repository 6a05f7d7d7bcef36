"""The lowering of a store that the copy engine makes: panel by panel through two buffers.

One thread starts the copies and waits for them. A buffer is filled again when its last copy has read it; where the
store stands in a loop, the copies of the last time are complete before the next begin, since they may go to one place.
Before the block ends, its memory has been read. `insert-fences` puts the barriers between the threads' writes and the
copies; those behind the waits stand here, since no access shows that they are needed.
`insert-fences` puts the barriers between the threads' writes and the copies.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr, VectorType, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileopt.dialects import gpu_tma, simt, tile
from tileopt.dialects.encodings import LayoutAttr, layout_of
from tileopt.passes.intervals import LOOPS
from tileopt.passes.layout.bulk_stores import panels_of
from tileopt.passes.lowering.lower_tile_to_simt import Lowering


def lower_bulk_store(state: Lowering, op: tile.Store) -> None:
    panels = panels_of(op, layout_of(op.value.type), state.target)
    assert panels is not None, "assign-layouts asked the same"
    value, view = state.value(op.value), state.value(op.view)
    offsets = [state.value(v) for v in op.offsets]
    slots: dict[str, Attribute] = {"slots": IntegerAttr(panels.buffers, i64)} if panels.buffers > 1 else {}
    ring = state.emit(simt.AllocShared, [], [panels.type], slots).results[0]
    if _in_loop(op):
        one_thread(state, lambda: wait(state, 0, read=False))
        state.emit(simt.Barrier, [])
    for number, registers in enumerate(panels.registers):
        buffer = ring
        if panels.buffers > 1:
            slot = constant(state, number % panels.buffers)
            buffer = state.emit(simt.Slot, [ring, slot], [ring.type]).results[0]
        if number >= panels.buffers:
            one_thread(state, lambda: wait(state, panels.buffers - 1, read=True))
            state.emit(simt.Barrier, [])
        part = value
        if len(panels.registers) > 1:
            assert isinstance(value.type, VectorType)
            chosen: dict[str, Attribute] = {"registers": DenseArrayBase.from_list(i64, list(registers))}
            type_ = VectorType(value.type.element_type, [len(registers)])
            part = state.emit(simt.FragmentSelect, [value], [type_], chosen).results[0]
        state.emit(simt.SharedStore, [part, buffer], [], {"layout": LayoutAttr.of(panels.layout)})
        places = list(offsets)
        if number:
            step = constant(state, number * panels.columns)
            flags: dict[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}
            places[panels.axis] = state.emit(arith.AddiOp, [places[panels.axis], step], [i64], flags).results[0]
        one_thread(state, lambda: start(state, op, buffer, view, places))  # noqa: B023  (called at once)
    state.bulk_stores = True


def finish(state: Lowering) -> None:
    """Before the block ends, the copies have read its memory."""
    if state.bulk_stores:
        state.bulk_stores = False
        one_thread(state, lambda: wait(state, 0, read=True))


def _in_loop(op: Operation) -> bool:
    around = op.parent_op()
    while around is not None and not isinstance(around, LOOPS):
        around = around.parent_op()
    return around is not None


def start(state: Lowering, op: tile.Store, buffer: SSAValue, view: SSAValue, places: list[SSAValue]) -> None:
    properties: dict[str, Attribute] = {} if op.bounds is None else {"bounds": op.bounds}
    state.emit(gpu_tma.TmaStore, [buffer, view, *places], [], properties)
    state.emit(gpu_tma.TmaCommit, [])


def wait(state: Lowering, pending: int, *, read: bool) -> None:
    properties: dict[str, Attribute] = {"pending": IntegerAttr(pending, i64)}
    if read:
        properties["read"] = UnitAttr()
    state.emit(gpu_tma.TmaWait, [], [], properties)


def one_thread(state: Lowering, make: Callable[[], None]) -> None:
    """Runs what `make` emits in the block's first thread."""
    thread = state.emit(simt.ThreadId, [], [i32]).results[0]
    zero = state.emit(arith.ConstantOp, [], [i32], {"value": IntegerAttr(0, i32)}).results[0]
    first = state.emit(arith.CmpiOp, [thread, zero], [i1], {"predicate": IntegerAttr(0, i64)}).results[0]
    outer, state.block = state.block, Block()
    make()
    state.emit(scf.YieldOp, [])
    inner, state.block = state.block, outer
    state.emit(scf.IfOp, [first], [], regions=[Region(inner), Region()])


def constant(state: Lowering, value: int) -> SSAValue:
    return state.emit(arith.ConstantOp, [], [i64], {"value": IntegerAttr(value, i64)}).results[0]
