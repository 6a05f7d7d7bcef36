"""prefetch-loads: what a loop loads into registers is on its way some iterations before it is used.

From: tile with layouts. To: the same. Invariant: what the loop computes.

It is done where the kernel asks for it: `num_stages = n` in a kernel without products has the loads of a loop made
n - 1 iterations early (the loads of products go through channels, see `pipeline-loops`). The tiles wait in registers,
carried around the loop. A load is made early if its array is read-only and its offsets follow from the loop's variable
and from what is made outside. The last iterations load tiles that nothing uses: each early load tests its bounds, so
that it touches nothing outside its array.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import tile
from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.kernel import EARLY_LOADS
from tileopt.dialects.target import target_of
from tileopt.dialects.tile_types import ViewType
from tileopt.passes.building import add, insert, multiply, number
from tileopt.passes.layout.access import unit_axis
from tileopt.passes.loops import carry
from tileopt.passes.schedule.pipeline_loops import NUM_STAGES, address_slice

_MAY_FAIL = arith.DivSIOp | arith.DivUIOp | arith.RemSIOp | arith.RemUIOp | arith.FloorDivSIOp | arith.CeilDivSIOp


@dataclass(frozen=True)
class PrefetchLoads(ModulePass):
    name = "prefetch-loads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                prefetch_loads(kernel)


def prefetch_loads(kernel: tile.Kernel) -> None:
    """Makes the loads in loops of `kernel` as many iterations early as its hint says."""
    early = (kernel.integer(NUM_STAGES) or 1) - 1
    if early < 1 or any(isinstance(op, tile.Mma) for op in kernel.walk()) or not target_of(kernel).is_gpu:
        return
    for loop in [op for op in kernel.walk() if isinstance(op, scf.ForOp)]:
        body = loop.body.block
        for load in [op for op in body.ops if isinstance(op, tile.Load)]:
            address = address_slice(load, loop)
            if address is not None and _may_be_early(load) and not any(isinstance(op, _MAY_FAIL) for op in address):
                around = body.parent_op()
                assert isinstance(around, scf.ForOp)
                _make_early(load, around, address, early)
                kernel.attributes[EARLY_LOADS] = UnitAttr()


def _may_be_early(load: tile.Load) -> bool:
    """Whether nothing writes to the array, and what lies outside of it can be left out."""
    assert isinstance(load.view.type, ViewType)
    if load.view.type.owned or load.unchecked is not None:
        return False
    if load.bounds is None:
        return True
    # Elements that move as one because the tile is inside may straddle the array's end in a tile beyond.
    apart = load.vector is None or load.vector.value.data == 1 or unit_axis(load.view) in load.bounds.axes
    return apart and load.bounds.outcome not in (Outcome.CHECKED, Outcome.UNCHECKED)


def _make_early(load: tile.Load, loop: scf.ForOp, address: list[Operation], early: int) -> None:
    """Has the loop carry the tiles of its next iterations."""
    if load.bounds is not None:
        load.bounds = BoundsAttr((Outcome.HOISTED, tuple(range(len(load.offsets))), "made ahead of its iteration"))
    first = [_copy(load, loop, address, _ahead(loop, loop.lb, loop.step, k)) for k in range(early)]
    waiting: list[SSAValue] = []
    body = loop.body.block
    for value in first:
        waiting.append(carry(loop, value))
        around = body.parent_op()
        assert isinstance(around, scf.ForOp)
        loop = around
    following = _copy(load, load, address, _ahead(load, body.args[0], loop.step, early))
    waiting[0].name_hint = load.result.name_hint
    load.result.replace_all_uses_with(waiting[0])
    body.erase_op(load)
    for op in reversed(address):
        if not any(True for result in op.results for _ in result.uses):
            body.erase_op(op)
    end = body.last_op
    assert end is not None
    end.operands = [*end.operands, *waiting[1:], following]


def _ahead(at: Operation, variable: SSAValue, step: SSAValue, iterations: int) -> SSAValue:
    """The loop's variable some iterations later."""
    if not iterations:
        return variable
    return add(at, variable, step if iterations == 1 else multiply(at, step, number(at, iterations, step.type)))


def _copy(load: tile.Load, at: Operation, address: list[Operation], variable: SSAValue) -> SSAValue:
    """The load, as an iteration with this variable makes it, in front of `at`."""
    loop = load.parent_op()
    assert isinstance(loop, scf.ForOp) and at.parent is not None
    values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: variable}
    for op in address:
        at.parent.insert_op_before(op.clone(values), at)
    operands = [values.get(v, v) for v in load.operands]
    copy = insert(at, tile.Load, operands, [load.result.type], load.properties)
    copy.location = load.location
    return copy.results[0]
