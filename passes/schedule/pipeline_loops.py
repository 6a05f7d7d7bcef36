"""pipeline-loops: what a loop reads from arrays is on its way some iterations before it is used.

From: tile. To: tile+pipe. Invariant: tiles that cross iterations do so through a `pipe.channel` alone; each of a
loop's iterations waits for, copies into, commits and releases its slots in the same order whatever the trip count.

A loop is pipelined where its body stages loaded tiles (`tile.stage(tile.load)`), the target copies asynchronously,
and it is certain that the copies may be made early: the offsets follow from the induction variable and from values
made outside, the array is not written in the loop, and the loop contains no loop that was pipelined. Views that are
different arguments do not overlap; the host checks it.

The channel has `tile.num_stages` slots, or as many as the target likes, fewer where shared memory or the trip count
is too small; with fewer than two the loop stays as it is.

Where the target's copy engine can make all the copies of a kernel, nothing is done early: channels stand where the
loads stood, in `while` loops and branches too, and the kernel is marked for `split-roles`, whose producer runs ahead
(see `bulk_channels`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import pipe, tile
from tileopt.dialects.diagnostics import UnsupportedError, location_of
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.target import Feature, Target, target_of
from tileopt.dialects.tile_types import ViewType
from tileopt.passes.loops import Loop, body_of
from tileopt.passes.schedule.block_order import Order
from tileopt.passes.schedule.bulk_channels import BulkLoop, bulk_loop, copied_in_bulk, rewrite_bulk
from tileopt.passes.schedule.clusters import cluster_size, make_cluster, share
from tileopt.passes.schedule.make_persistent import make_persistent
from tileopt.passes.schedule.map_tensor_cores import NUM_WARPS, WARPGROUP
from tileopt.passes.schedule.pipeline_rewrite import Stream, rewrite
from tileopt.passes.schedule.ride_along import buffer_of, may_ride, ride
from tileopt.passes.schedule.role_budget import fits
from tileopt.passes.schedule.role_slice import knows, slice_of
from tileopt.passes.schedule.slot_memory import loop_slots, ring_bytes, ring_room, ring_slots, staged_bytes

NUM_STAGES = "tile.num_stages"
MIN_COPY_BYTES = 4  # of cp.async
ROLES = "pipe.roles"  # kernel attribute: a producer of its own fills the channels


@dataclass(frozen=True)
class PipelineLoops(ModulePass):
    name = "pipeline-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                pipeline_loops(kernel)


def pipeline_loops(kernel: tile.Kernel) -> None:
    """Pipelines the loops of `kernel`, innermost first."""
    loops = [op for op in kernel.walk() if isinstance(op, scf.ForOp | scf.WhileOp)]
    if not loops:
        return
    stages = _stages(kernel)
    target = target_of(kernel)
    ctas = cluster_size(kernel, target)
    if not target.has(Feature.CP_ASYNC):
        return
    if specialise(kernel, loops, target, stages, ctas):
        return
    wanted = target.default_stages if stages is None else stages
    for loop in reversed(loops):  # an inner loop stands after the one around it
        streams = find_streams(loop) if isinstance(loop, scf.ForOp) else []
        if isinstance(loop, scf.ForOp) and streams:
            slots = loop_slots(kernel, loop, streams, wanted, target)
            if slots >= 2:
                rewrite(loop, streams, slots)


def specialise(kernel: tile.Kernel, loops: list[Loop], target: Target, stages: int | None, ctas: int) -> bool:
    """Makes channels for a producer of its own, where each load that a loop stages can be a bulk copy. `ctas`: blocks
    of a cluster, if they have loads in common."""
    warps = kernel.attributes.get(NUM_WARPS)
    if not (target.has(Feature.TMA) and target.has(Feature.SETMAXNREG)) or not isinstance(warps, IntegerAttr):
        return False
    count = warps.value.data
    if count % WARPGROUP or 32 * (count + WARPGROUP) > target.max_threads or stages == 1:
        return False
    found: list[BulkLoop] = []
    homes: list[Loop] = []
    for loop in reversed(loops):
        for body in _bodies(loop):
            streams = find_copies(loop, body, target)
            if streams:
                bulk = bulk_loop(body, streams, target)
                if bulk is None:
                    return False
                found.append(bulk)
                homes.append(loop)
    if not found or not fits(target, count, kernel):
        return False
    budget, room = ring_room(kernel, found, count, target)
    if room // 2 < ring_bytes(found):
        return False
    for number, home in enumerate(homes):
        found[number] = _with_riders(home, found[number], room // 2 - ring_bytes(found), target)
    slots = ring_slots(kernel, found, room, stages)
    order = Order([s.load for bulk in found for s in bulk.streams], [bulk.around for bulk in found])
    if ctas > 1 and share([s for bulk in found for s in bulk.streams], order.fastest, ctas):
        make_cluster(kernel, order.fastest, ctas)
    turns = make_persistent(kernel, budget.blocks, order)
    # What each turn loads before its loops has one slot: its memory is what a staged tile would take.
    before = bulk_loop(body_of(turns), find_copies(turns, body_of(turns), target), target)
    if before is not None:
        rewrite_bulk(kernel, before, 1)
    for bulk in found:
        rewrite_bulk(kernel, bulk, slots)
    kernel.attributes[ROLES] = UnitAttr()
    return True


def _with_riders(loop: Loop, bulk: BulkLoop, room: int, target: Target) -> BulkLoop:
    """The copies of a loop, or of a branch in it, with those that come along: of at most so many bytes together."""
    written = _written([op for op in loop.walk() if op is not loop])
    for load in [op for op in bulk.body.ops if isinstance(op, tile.Load) and may_ride(op)]:
        size = staged_bytes(buffer_of(load))
        if size <= room and load.view not in written and _copies(load):
            room -= size
            ride(load)
    found = bulk_loop(bulk.body, find_copies(loop, bulk.body, target), target)
    assert found is not None, "what rides along is what the engine can copy"
    return found


def _stages(kernel: tile.Kernel) -> int | None:
    given = kernel.attributes.get(NUM_STAGES)
    if given is None:
        return None
    if not isinstance(given, IntegerAttr) or given.value.data < 1:
        raise UnsupportedError(
            "kernel/num-stages",
            f"num_stages = {_shown(given)}: a loop has at least one stage",
            location=location_of(kernel),
            help="1 turns pipelining off; leave num_stages out to have the compiler choose",
        )
    return given.value.data


def _shown(given: Attribute) -> str:
    return str(given.value.data) if isinstance(given, IntegerAttr) else str(given)


# --- what may be pipelined -------------------------------------------------------------------------------------------


def find_streams(loop: scf.ForOp) -> list[Stream]:
    """The loads in the body of `loop` that may be made some iterations early, in the order of the text."""
    found = ((s, address_slice(s.load, loop, reads=True)) for s in _staged(loop, loop.body.block))
    return [Stream(s.load, s.stage, address) for s, address in found if address is not None]


def find_copies(loop: Loop, body: Block, target: Target) -> list[Stream]:
    """The loads in `body`, that of `loop` or a branch in it, that a producer which goes through the loop itself may
    make. Of those that could not be made early it takes only what it can."""
    streams: list[Stream] = []
    for stream in _staged(loop, body):
        early = isinstance(loop, scf.ForOp) and address_slice(stream.load, loop) is not None
        if early or (slice_of([stream.load]) is not None and copied_in_bulk(stream, target)):
            streams.append(stream)
    return streams


def _bodies(loop: Loop) -> list[Block]:
    """The body of a loop, and the branches in it that are in no other loop."""
    found: list[Block] = []
    pending = [body_of(loop)]
    while pending:
        block = pending.pop()
        found.append(block)
        pending += [r.block for op in block.ops if isinstance(op, scf.IfOp) for r in op.regions if r.blocks]
    return found


def _staged(loop: Loop, body: Block) -> list[Stream]:
    """The loads in `body` that are staged for its own use, of arrays that the loop does not write."""
    inside = [op for op in loop.walk() if op is not loop]
    if any(isinstance(op, pipe.Channel) for op in inside):
        return []
    stages = [op for op in body.ops if isinstance(op, tile.Stage)]
    written = _written(inside) if stages else set[SSAValue]()
    streams: list[Stream] = []
    for op in stages:
        load = op.source.owner
        if not isinstance(load, tile.Load) or load.parent is not body or not load.result.has_one_use():
            continue
        if load.view not in written and _copies(load) and _used_in(op, body):
            streams.append(Stream(load, op, []))
    return streams


def _written(ops: list[Operation]) -> set[SSAValue]:
    """The views that the ops may write."""
    from xdsl.traits import MemoryEffectKind, get_effects

    views: set[SSAValue] = set()
    for op in ops:
        taken = [v for v in op.operands if isinstance(v.type, ViewType)]
        if taken and not op.regions:
            effects = get_effects(op)
            if effects is None or any(e.kind == MemoryEffectKind.WRITE for e in effects):
                views.update(taken)
    return views


def _copies(load: tile.Load) -> bool:
    """Whether an asynchronous copy can do what the load does: at least 4 bytes at once, and zeros outside."""
    vector = 1 if load.vector is None else load.vector.value.data
    if vector * bit_width(load.result.type) // 8 < MIN_COPY_BYTES:
        return False
    match load.padding:
        case None:
            return True
        case FloatAttr(value=value):
            return str(value.data) == "0.0"  # -0.0 has other bits
        case IntegerAttr(value=value):
            return value.data == 0
        case _:
            return False


def _used_in(stage: tile.Stage, body: Block) -> bool:
    return all(use.operation is not body.last_op and body.is_ancestor(use.operation) for use in stage.result.uses)


def address_slice(load: tile.Load, loop: scf.ForOp, *, reads: bool = False) -> list[Operation] | None:
    """The ops in the body that compute the load's operands, in order; None where they depend on more than the
    induction variable and what is made outside, or are not pure. `reads`: numbers may come from arrays, so that the ops
    may be done for iterations alone that there are."""
    body = loop.body.block
    needed: set[Operation] = set()
    pending = list(load.operands)
    while pending:
        value = pending.pop()
        op = value.owner
        if not isinstance(op, Operation):
            if op is body and value is not body.args[0]:
                return None
            continue
        if op in needed or not loop.is_ancestor(op):
            continue
        if op.parent is not body or not (_is_repeatable(op) or (reads and knows(op))):
            return None
        needed.add(op)
        pending += op.operands
    return [op for op in body.ops if op in needed]


def _is_repeatable(op: Operation) -> bool:
    from xdsl.traits import is_side_effect_free

    # xDSL leaves some integer ops of `arith` without a word on their effects.
    return not op.regions and (op.name.startswith("arith.") or is_side_effect_free(op))
