"""take-turns: the consumers' warpgroups begin their products one after the other.

From: simt+pipe+gpu with roles. To: the same. Invariant: where a consumers' loop is marked `pipe.turns` (see
`skew-products`), a warpgroup begins the products of an iteration when the one before it has begun its own: warpgroup g
those of iteration n after warpgroup g-1 those of n, and the first one after the last one those of n-1.

Warpgroups that begin products at the same time wait for them at the same time, and then crowd the special functions
together while the tensor cores idle; nothing drives them apart. With turns the products of one run beside the special
functions of the other.

A turn begins behind the wait for the loop's first channel, in all that the consumers do with it, and the channel's
iteration is its number. It ends behind the last product that is begun before one is waited for. Barriers of one phase a
turn hand it on.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from tileopt.dialects import gpu_mbarrier, gpu_wgmma, pipe, simt
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.verifier import walk
from tileopt.passes.building import EQUAL, add, choose, compare, divide, emit, insert, number
from tileopt.passes.schedule.map_tensor_cores import WARPGROUP
from tileopt.passes.schedule.skew_products import TURNS


@dataclass(frozen=True)
class TakeTurns(ModulePass):
    name = "take-turns"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, simt.Kernel):
                for roles in [x for x in walk(kernel) if isinstance(x, pipe.Roles)]:
                    loops = [x for x in roles.consumers.block.walk() if TURNS in x.attributes]
                    for loop in loops:
                        del loop.attributes[TURNS]
                    if loops and roles.warps.value.data > WARPGROUP:
                        take_turns(roles, loops[0])


def take_turns(roles: pipe.Roles, loop: Operation) -> None:
    """Makes turns of what the consumers do with the first channel that `loop` waits for."""
    first = next((op for op in loop.walk() if isinstance(op, pipe.Wait)), None)
    if first is None:
        return
    waits = [op for op in roles.consumers.block.walk() if isinstance(op, pipe.Wait) and op.channel is first.channel]
    turns = [(wait, last) for wait in waits if (last := _last_begun(wait)) is not None]
    if len(turns) < len(waits):
        return  # a turn without products would be one that nobody ends
    groups = roles.warps.value.data // WARPGROUP
    barriers = _barriers(roles, groups)
    for wait, last in turns:
        behind = wait.next_op
        assert behind is not None and last.next_op is not None
        group = _group(behind)
        # The first warpgroup waits for the phase before: that before the first is over (see `lower_roles`).
        is_first = compare(behind, EQUAL, group, number(behind, 0))
        phase = choose(behind, is_first, add(behind, wait.iteration, number(behind, 1)), wait.iteration)
        insert(behind, gpu_mbarrier.MbarrierWait, [barriers, group, phase])
        at = last.next_op
        following = add(at, group, number(at, 1))
        is_last = compare(at, EQUAL, following, number(at, groups))
        following = choose(at, is_last, number(at, 0), following)
        lane = emit(at, arith.AndIOp, [emit(at, simt.ThreadId, [], [i32]), number(at, WARP_SIZE - 1, i32)], [i32])
        where = compare(at, EQUAL, lane, number(at, 0, i32))
        insert(at, gpu_mbarrier.MbarrierArrive, [barriers, following, where])


def _last_begun(wait: pipe.Wait) -> gpu_wgmma.Wgmma | None:
    """The last product that is begun behind a wait, before one of those is waited for."""
    found: gpu_wgmma.Wgmma | None = None
    at = wait.next_op
    while at is not None and not at.regions and not at.has_trait(IsTerminator):
        if isinstance(at, gpu_wgmma.Wgmma):
            found = at
        if isinstance(at, gpu_wgmma.WgmmaWait) and found is not None:
            break
        at = at.next_op
    return found


def _barriers(roles: pipe.Roles, groups: int) -> SSAValue:
    """One barrier for each warpgroup, at which each warp of the one before it arrives."""
    barriers = emit(roles, simt.AllocShared, [], [BufferType.of((groups,), i64)])
    block, end = Block(), scf.YieldOp.create()
    end.location = roles.location
    block.add_op(end)
    for group in range(groups):
        count = {"count": IntegerAttr(WARPGROUP, i64)}
        insert(end, gpu_mbarrier.MbarrierInit, [barriers, number(end, group)], [], count)
    thread = emit(roles, simt.ThreadId, [], [i32])
    first = compare(roles, EQUAL, thread, number(roles, 0, i32))
    insert(roles, scf.IfOp, [first], [], {}, [Region(block), Region()])
    return barriers


def _group(at: Operation) -> SSAValue:
    """This thread's warpgroup."""
    thread = emit(at, arith.ExtUIOp, [emit(at, simt.ThreadId, [], [i32])], [i64])
    return divide(at, thread, number(at, WARP_SIZE * WARPGROUP))
