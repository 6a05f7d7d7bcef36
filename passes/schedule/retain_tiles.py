"""retain-tiles: what a loop loads and a later one loads again stays in shared memory in between.

From: tile with layouts. To: the same. Invariant: what each load gives.

A load of a read-only array in a loop over 0, 1, ... and a later load agree where their offsets are the same terms, with
some number `p` in the place of the loop's variable: the later one then gives what iteration `p` loaded. The first
iterations put their tiles into a ring in shared memory, and the later load takes its tile from there where `p` is one
of them. Both tiles have one layout, so that each thread reads what it wrote itself, and no thread waits for another.

A row that is read twice so comes from memory once, as far as the ring holds it. The ring takes what shared memory is
left to a block if its multiprocessor runs as many threads as the largest block has: fewer would hide less latency.
Kernels with products have other uses for shared memory and keep it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import pipe, simt, tile
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.encodings import layout_of
from tileopt.dialects.layout import SharedLayout
from tileopt.dialects.target import Target, target_of
from tileopt.dialects.tile_types import BufferType, ViewType, tile_shape
from tileopt.passes.building import BELOW, LESS, compare, emit, insert, number
from tileopt.passes.invariants import demand
from tileopt.passes.layout.access import memory_order
from tileopt.passes.layout.assign_layouts import unit_reshape
from tileopt.passes.layout.buffers import staged_layout
from tileopt.passes.layout.bulk_stores import BUFFERS, may_store
from tileopt.passes.schedule.map_tensor_cores import NUM_WARPS
from tileopt.passes.schedule.pipeline_rewrite import constant, constant_trips

_OTHER_MEMORY = tile.Mma | tile.Stage | tile.LoadBuffer | tile.StoreBuffer | simt.AllocShared | pipe.Channel


@dataclass(frozen=True)
class RetainTiles(ModulePass):
    name = "retain-tiles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        demand(self.name, op)
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                retain_tiles(kernel)


@dataclass(frozen=True, slots=True)
class _Again:
    """A later load of what iteration `index` of the loop loaded."""

    load: tile.Load
    index: SSAValue


def retain_tiles(kernel: tile.Kernel) -> None:
    """Keeps tiles that are loaded again in shared memory, as far as there is room."""
    loads = [op for op in kernel.walk() if isinstance(op, tile.Load)]
    found: dict[tile.Load, list[_Again]] = {}
    taken: set[tile.Load] = set()
    for place, load in enumerate(loads):
        loop = load.parent_op()
        if load in taken or not isinstance(loop, scf.ForOp) or not _may_retain(load, loop):
            continue
        again = [_Again(late, at) for late in loads[place + 1 :] if (at := _index(load, late, loop)) is not None]
        if again:
            found[load] = again
            taken.update(each.load for each in again)
    target = target_of(kernel) if found else None
    if target is None or not target.is_gpu or any(isinstance(op, _OTHER_MEMORY) for op in kernel.walk()):
        return
    slots = _room(kernel, target) // sum(_bytes(load) for load in found)
    for load, again in found.items():
        loop = load.parent_op()
        assert isinstance(loop, scf.ForOp)
        trips = constant_trips(loop)
        count = slots if trips is None else min(slots, trips)
        if count > 0:
            _retain(load, loop, again, count)


def _may_retain(load: tile.Load, loop: scf.ForOp) -> bool:
    """Whether nothing writes to the array, and the loop's variable counts its iterations."""
    assert isinstance(load.view.type, ViewType)
    counts = loop.lb.type == i64 and constant(loop.lb) == 0 and constant(loop.step) == 1
    return counts and not load.view.type.owned and load.unchecked is None and bit_width(load.result.type) % 8 == 0


def _index(load: tile.Load, late: tile.Load, loop: scf.ForOp) -> SSAValue | None:
    """The iteration of the loop that loads what `late`, which comes after the loop, loads again."""
    if late.view is not load.view or late.result.type != load.result.type or late.padding != load.padding:
        return None
    if not _follows(late, loop):
        return None
    bound: list[SSAValue] = []
    same = all(_agree(a, b, loop, bound) for a, b in zip(load.offsets, late.offsets, strict=True))
    return bound[0] if same and bound else None


def _follows(op: Operation, loop: scf.ForOp) -> bool:
    """Whether all of the loop is done where `op` runs."""
    at: Operation | None = op
    while at is not None and at.parent is not loop.parent:
        at = at.parent_op()
    return at is not None and loop.is_before_in_block(at)


def _agree(a: SSAValue, b: SSAValue, loop: scf.ForOp, bound: list[SSAValue]) -> bool:
    """Whether `b` is `a` with one value in the place of the loop's variable, which is then in `bound`."""
    if a is loop.body.block.args[0]:
        if not bound:
            bound.append(b)
        return _equal(bound[0], b)
    if a is b:
        return True
    one, other = a.owner, b.owner
    if not isinstance(one, Operation) or not isinstance(other, Operation) or not _same_op(one, other):
        return False
    return all(_agree(x, y, loop, bound) for x, y in zip(one.operands, other.operands, strict=True))


def _equal(a: SSAValue, b: SSAValue) -> bool:
    if a is b:
        return True
    one, other = a.owner, b.owner
    if not isinstance(one, Operation) or not isinstance(other, Operation) or not _same_op(one, other):
        return False
    return all(_equal(x, y) for x, y in zip(one.operands, other.operands, strict=True))


def _same_op(one: Operation, other: Operation) -> bool:
    """Whether two ops compute the same of the same operands, wherever they stand."""
    known = one.name.startswith("arith.") or isinstance(one, tile.Bid | tile.NumBlocks | tile.Dim)
    alike = type(one) is type(other) and one.properties == other.properties
    return known and alike and [r.type for r in one.results] == [r.type for r in other.results]


def _room(kernel: tile.Kernel, target: Target) -> int:
    """Bytes of shared memory that a block may keep tiles in."""
    warps = kernel.attributes.get(NUM_WARPS)
    threads = 32 * (warps.value.data if isinstance(warps, IntegerAttr) else target.default_warps)
    share = min(threads, target.max_threads) * target.shared_bytes // target.max_threads
    return max(0, share - sum(_passing(op, target) for op in kernel.walk()))


def _passing(op: Operation, target: Target) -> int:
    """Bytes of shared memory that an op may need for what its threads exchange."""
    if isinstance(op, tile.Reduce):
        layout = layout_of(op.source.type)
        left = layout.drop_axis(op.axis.value.data).shape
        return (1 << len(layout.warps)) * prod(left) * _size(op.result.type)
    if isinstance(op, tile.Reshape):
        moves = unit_reshape(layout_of(op.source.type), tile_shape(op.result.type)) is None
        return prod(tile_shape(op.result.type)) * _size(op.result.type) if moves else 0
    if isinstance(op, tile.Store) and op.bulk is not None:
        panel = may_store(op, target)
        return 0 if panel is None else BUFFERS * panel.shared_layout.size * _size(op.value.type)
    if isinstance(op, tile.ConvertLayout):
        shape, type_ = tile_shape(op.result.type), op.result.type
        assert isinstance(type_, TensorType)
        order = tuple(range(len(shape)))
        return staged_layout(shape, type_.element_type, order, target.banked).size * _size(type_)
    return 0


def _size(type_: object) -> int:
    assert isinstance(type_, TensorType)
    return max(1, bit_width(type_.element_type) // 8)


def _bytes(load: tile.Load) -> int:
    return prod(tile_shape(load.result.type)) * _size(load.result.type)


def _retain(load: tile.Load, loop: scf.ForOp, again: list[_Again], slots: int) -> None:
    shape = tile_shape(load.result.type)
    assert isinstance(load.result.type, TensorType)
    type_ = BufferType.of(shape, load.result.type.element_type, SharedLayout(shape, memory_order(load.view)))
    ring = emit(loop, simt.AllocShared, [], [type_], {"slots": IntegerAttr(slots, i64)})
    after = load.next_op
    assert after is not None
    early = compare(after, BELOW, loop.body.block.args[0], number(after, slots))
    held = Block()
    insert(after, scf.IfOp, [early], [], None, [Region(held), Region()])
    _in_slot(load, held, ring, loop.body.block.args[0], load.result)
    _end(load, held)
    for each in again:
        late = each.load
        kept = compare(late, BELOW, each.index, number(late, slots))
        if not _counts_alike(each.index, loop):
            kept = emit(late, arith.AndIOp, [kept, compare(late, LESS, each.index, loop.ub)], [i1])
        there, gone = Block(), Block()
        chosen = insert(late, scf.IfOp, [kept], [late.result.type], None, [Region(there), Region(gone)])
        late.result.replace_all_uses_with(chosen.results[0])
        _end(late, there, _in_slot(late, there, ring, each.index, None))
        assert late.parent is not None
        gone.add_op(late.parent.detach_op(late))
        _end(late, gone, late.result)


def _counts_alike(index: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a number is the variable of a loop over the same range."""
    other = index.owner.parent_op() if isinstance(index.owner, Block) else None
    if not isinstance(other, scf.ForOp) or index is not other.body.block.args[0]:
        return False
    return other.ub is loop.ub and constant(other.lb) == 0 and constant(other.step) == 1


def _in_slot(like: tile.Load, block: Block, ring: SSAValue, index: SSAValue, value: SSAValue | None) -> SSAValue | None:
    """Writes a tile to a slot, or reads the slot's, at the end of a block."""
    slot = simt.Slot.create(operands=[ring, index], result_types=[ring.type])
    access: Operation
    if value is None:
        access = tile.LoadBuffer.create(operands=[slot.result], result_types=[like.result.type])
    else:
        access = tile.StoreBuffer.create(operands=[value, slot.result])
    for op in (slot, access):
        op.location = like.location
        block.add_op(op)
    return access.results[0] if access.results else None


def _end(like: Operation, block: Block, value: SSAValue | None = None) -> None:
    end = scf.YieldOp.create(operands=[] if value is None else [value])
    end.location = like.location
    block.add_op(end)
