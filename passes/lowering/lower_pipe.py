"""lower-pipe: channels become rings of shared memory and groups of asynchronous copies.

From: simt+pipe+gpu. To: simt+gpu. Invariant: no channels.

Every thread copies its part of a tile, and waits for its own copies by counting groups; `insert-fences` adds the
barriers that make them visible to the others and keep a slot from being filled while it is read. So acquire and
release need no code. A copy that the hardware cannot make asynchronously (its elements do not lie side by side in
the array and the tile for 4 bytes, or it pads with something else than zero), and every copy on a target without
asynchronous ones, goes through registers at the same point of the program. Behind the loop all groups are waited for.

In a kernel with roles a channel is a ring with barriers of its own, see `lower_roles`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, VectorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import gpu, pipe, simt
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.layout import WARP_SIZE, Coord, Layout, coalesced, pow2_divisor
from tileopt.dialects.target import Feature, Target, target_of
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.verifier import walk
from tileopt.passes.building import insert
from tileopt.passes.layout.access import memory_order, unit_axis
from tileopt.passes.lowering.lower_roles import RoleLowering, roles_of
from tileopt.passes.lowering.slot_counters import SlotCounters

MIN_COPY_BYTES, MAX_COPY_BYTES = 4, 16  # of cp.async


@dataclass(frozen=True)
class LowerPipe(ModulePass):
    name = "lower-pipe"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, simt.Kernel):
                lower_pipe(kernel)


def lower_pipe(kernel: simt.Kernel) -> None:
    """Lowers the channels of `kernel` in place."""
    ops = [op for op in walk(kernel) if isinstance(op, _LOWERED)]
    if not ops:
        return
    roles = roles_of(kernel)
    if roles is not None:
        split = RoleLowering(kernel, roles)
        for op in (*ops, roles):
            split.lower(op)
        _erase([*ops, roles])
        return
    threads = kernel.attributes.get(simt.THREADS)
    assert isinstance(threads, IntegerAttr)
    lowering = _Lowering(target_of(kernel), max(1, threads.value.data // WARP_SIZE))
    for op in ops:
        lowering.lower(op)
    if lowering.target.has(Feature.CP_ASYNC):
        for op in ops:
            if isinstance(op, pipe.Channel):
                _drain(op)
    _erase(ops)


def _erase(ops: Sequence[Operation]) -> None:
    for op in reversed(ops):
        assert op.parent is not None
        op.parent.erase_op(op)


_LOWERED = (pipe.Channel, pipe.Acquire, pipe.Copy, pipe.Commit, pipe.Wait, pipe.Release)


@dataclass(slots=True)
class _Lowering:
    target: Target
    num_warps: int
    rings: dict[SSAValue, list[SSAValue]] = field(default_factory=dict)
    counters: SlotCounters = field(default_factory=SlotCounters)

    def lower(self, op: Operation) -> None:
        """Puts what takes the place of `op` in front of it."""
        asynchronous = self.target.has(Feature.CP_ASYNC)
        match op:
            case pipe.Channel():
                self.rings[op.result] = [self.ring(op, member) for member in pipe.channel_type(op.result).members.data]
            case pipe.Copy():
                self.copy(op)
            case pipe.Commit() if asynchronous:
                insert(op, gpu.CpAsyncCommit)
            case pipe.Wait():
                if asynchronous:
                    insert(op, gpu.CpAsyncWait, properties={"pending": op.pending})
                for member, tile in enumerate(op.tiles):
                    slot = self.slot(op, op.channel, op.iteration, member)
                    slot.name_hint = tile.name_hint
                    tile.replace_all_uses_with(slot)
            case _:
                pass

    def ring(self, op: pipe.Channel, member: BufferType) -> SSAValue:
        slots = pipe.channel_type(op.result).slots.data
        properties: dict[str, Attribute] = {"slots": IntegerAttr(slots, i64)} if slots > 1 else {}
        return insert(op, simt.AllocShared, results=[member], properties=properties).results[0]

    def slot(self, at: Operation, channel: SSAValue, iteration: SSAValue, member: int) -> SSAValue:
        """The tile that iteration number `iteration` uses."""
        ring = self.rings[channel][member]
        slots = pipe.channel_type(channel).slots.data
        if slots == 1:
            return ring
        return insert(at, simt.Slot, [ring, self.counters.index(at, iteration, slots)], [ring.type]).results[0]

    def copy(self, op: pipe.Copy) -> None:
        buffer = self.slot(op, op.channel, op.iteration, op.member.value.data)
        type_ = buffer.type
        assert isinstance(type_, BufferType)
        vector = side_by_side(op.view, type_, 1 if op.vector is None else op.vector.value.data)
        bytes_each = bit_width(type_.element_type) // 8
        layout = copy_layout(type_.get_shape(), memory_order(op.view), vector, self.num_warps)
        vector = min(vector, layout.contiguous(memory_order(op.view)[-1])) if type_.rank else 1
        properties = {k: v for k, v in op.properties.items() if k in ("padding", "bounds")}
        properties["layout"] = LayoutAttr.of(layout)
        if self.target.has(Feature.CP_ASYNC) and vector * bytes_each >= MIN_COPY_BYTES and not _pads(op):
            properties["vector"] = IntegerAttr(vector, i64)
            insert(op, gpu.CpAsync, [op.view, *op.offsets, buffer], properties=properties)
            return
        if op.vector is not None:
            properties["vector"] = op.vector
        properties["shape"] = DenseArrayBase.from_list(i64, list(type_.get_shape()))
        fragment = VectorType(type_.element_type, [layout.registers])
        loaded = insert(op, simt.FragmentLoad, [op.view, *op.offsets], [fragment], properties).results[0]
        insert(op, simt.SharedStore, [loaded, buffer], properties={"layout": properties["layout"]})


def _drain(channel: pipe.Channel) -> None:
    """Waits behind the loop that uses the channel for all copies. None is in flight there if each was waited for in
    the loop, so this takes no time; it tells later passes that the ring's memory is free."""
    users = {use.operation for use in channel.result.uses}
    block = channel.parent
    assert block is not None
    last = next((op for op in reversed(tuple(block.ops)) if any(op.is_ancestor(user) for user in users)), None)
    if last is not None and last.regions and last.next_op is not None:
        wait = insert(last.next_op, gpu.CpAsyncWait, properties={"pending": IntegerAttr(0, i64)})
        wait.location = last.location


def _pads(op: pipe.Copy) -> bool:
    """Whether elements outside are something else than zeros."""
    return op.padding is not None and str(op.padding.value.data) not in ("0", "0.0")


def side_by_side(view: SSAValue, buffer: BufferType, vector: int) -> int:
    """Of `vector` elements that lie together in the array, how many one copy can move to the buffer."""
    shared = buffer.shared_layout
    fast = unit_axis(view)
    if fast is None or not shared.shape or shared.order[-1] != fast:
        return 1
    run = min(vector, MAX_COPY_BYTES * 8 // bit_width(buffer.element_type), pow2_divisor(shared.shape[fast]))
    if shared.bits:
        run = min(run, 1 << shared.base)
    for axis, stride in enumerate(shared.strides):
        if axis != fast and shared.shape[axis] > 1:
            run = min(run, pow2_divisor(stride))
    return max(1, run)


def copy_layout(shape: Coord, order: Coord, vector: int, num_warps: int) -> Layout:
    """Who copies what: `vector` elements at once even where that leaves warps without work, which hold replicas."""
    busy = num_warps
    while busy > 1 and prod(shape) < busy * WARP_SIZE * vector:
        busy //= 2
    layout = coalesced(shape, order, vector, busy)
    idle = num_warps.bit_length() - busy.bit_length()
    return Layout(layout.shape, layout.regs, layout.lanes, layout.warps + ((0,) * len(shape),) * idle)
