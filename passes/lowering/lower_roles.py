"""The part of lower-pipe for kernels with roles: channels become rings, barriers and bulk copies.

A channel of S slots has S barriers that say a slot is full (the producer's arrival, and the bytes of its copies) and S
that say it is empty (an arrival of each consumer warp; where the blocks of a cluster fill each other's slots, of each
consumer warp of the cluster). Iteration n uses slot n mod S for the (n / S)-th time: the
consumers wait for the end of that phase of "full", the producer for the end of the one before of "empty", which for
the first S iterations is over by definition (PTX ISA, mbarrier: the phase before the first has odd parity). Where only
products in tensor memory read the slots, the thread that issues them waits alone, and the unit arrives at "empty" in
the consumers' place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileopt.dialects import (
    gpu_accumulator,
    gpu_cluster,
    gpu_mbarrier,
    gpu_tensor,
    gpu_tma,
    gpu_wgmma,
    pipe,
    simt,
    simt_warp,
)
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.kernel import MIN_BLOCKS
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.verifier import walk
from tileopt.passes.building import BELOW, EQUAL, add, compare, emit, insert, number
from tileopt.passes.lowering.product_channels import read_by_units
from tileopt.passes.lowering.slot_counters import SlotCounters

PRODUCER_WARPS = 4  # registers are moved between whole warpgroups
ROLE = "simt.role"  # attribute of an `scf.if`: the threads that go into its first region


@dataclass(slots=True)
class _Ring:
    """A channel's memory: of each member a ring of slots, then the barriers, full ones first."""

    members: list[SSAValue]
    barriers: SSAValue
    slots: int
    bytes: int
    blocks: int  # of a cluster, which fill each other's slots
    by_units: bool  # only products in tensor memory read it


@dataclass(slots=True)
class RoleLowering:
    """Lowers the channels of one kernel in front of their ops; the caller erases these."""

    kernel: simt.Kernel
    roles: pipe.Roles
    rings: dict[SSAValue, _Ring] = field(default_factory=dict)
    counters: SlotCounters = field(default_factory=SlotCounters)
    by_threads: set[SSAValue] = field(default_factory=set)  # channels whose tiles threads read themselves
    places: dict[tuple[SSAValue, int, Block], SSAValue] = field(default_factory=dict)

    @property
    def consumers(self) -> int:
        return WARP_SIZE * self.roles.warps.value.data

    def lower(self, op: Operation) -> None:
        """Puts what takes the place of `op` in front of it."""
        match op:
            case pipe.Channel():
                self.rings[op.result] = self.ring(op)
            case pipe.Acquire():
                ring = self.rings[op.channel]
                slot, turn = self.place(op, ring, op.iteration)
                free = add(op, slot, number(op, ring.slots))
                before = add(op, turn, number(op, 1))  # of the other parity
                insert(op, gpu_mbarrier.MbarrierWait, [ring.barriers, free, before])
                expect: dict[str, Attribute] = {"expect": IntegerAttr(ring.bytes, i64)}
                self.arrive(op, ring, slot, None, expect)
            case pipe.Copy():
                ring = self.rings[op.channel]
                slot, _ = self.place(op, ring, op.iteration)
                buffer = self.slot(op, ring, op.member.value.data, slot)
                kept: dict[str, Attribute] = {
                    name: op.properties[name] for name in ("bounds", "parts") if name in op.properties
                }
                insert(op, gpu_tma.TmaLoad, [op.view, *op.offsets, buffer, ring.barriers, slot], [], kept)
            case pipe.Wait():
                ring = self.rings[op.channel]
                slot, turn = self.place(op, ring, op.iteration)
                if ring.by_units:
                    # Others would miss the end of a phase while the one that issues products runs ahead.
                    full = [ring.barriers, slot, turn]
                    self.first_thread(op, None, lambda at: insert(at, gpu_mbarrier.MbarrierWait, full))
                else:
                    insert(op, gpu_mbarrier.MbarrierWait, [ring.barriers, slot, turn])
                if any(_read_by_threads(tile) for tile in op.tiles):
                    self.by_threads.add(op.channel)
                for member, tile in enumerate(op.tiles):
                    buffer = self.slot(op, ring, member, slot)
                    buffer.name_hint = tile.name_hint
                    tile.replace_all_uses_with(buffer)
            case pipe.Release():
                ring = self.rings[op.channel]
                slot, _ = self.place(op, ring, op.iteration)
                if ring.by_units:  # the unit arrives when all products so far are done
                    empty = [ring.barriers, add(op, slot, number(op, ring.slots))]
                    self.first_thread(op, op.where, lambda at: insert(at, gpu_tensor.Tcgen05Commit, empty))
                    return
                if op.channel in self.by_threads:
                    insert(op, simt_warp.SyncWarp)  # the lane that arrives does so for all
                self.release(op, ring, slot)
            case pipe.Roles():
                self.split(op)
            case _:
                pass

    def ring(self, op: pipe.Channel) -> _Ring:
        type_ = pipe.channel_type(op.result)
        slots = type_.slots.data
        properties: dict[str, Attribute] = {"slots": IntegerAttr(slots, i64)} if slots > 1 else {}
        members = [emit(op, simt.AllocShared, [], [m], properties) for m in type_.members.data]
        barriers = emit(op, simt.AllocShared, [], [BufferType.of((2 * slots,), i64)])
        size = sum(prod(m.get_shape()) * bit_width(m.element_type) // 8 for m in type_.members.data)
        parts = [use.operation.parts for use in op.result.uses if isinstance(use.operation, pipe.Copy)]
        blocks = max((p.value.data for p in parts if p is not None), default=1)
        return _Ring(members, barriers, slots, size, blocks, read_by_units(op.result))

    def place(self, at: Operation, ring: _Ring, iteration: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The slot that an iteration uses, and how often it was used before."""
        assert at.parent is not None
        slot = self.counters.index(at, iteration, ring.slots)
        key = (iteration, ring.slots, at.parent)
        if key not in self.places:
            self.places[key] = emit(at, arith.DivUIOp, [iteration, number(at, ring.slots)], [i64])
        return slot, self.places[key]

    def slot(self, at: Operation, ring: _Ring, member: int, slot: SSAValue) -> SSAValue:
        tiles = ring.members[member]
        return tiles if ring.slots == 1 else emit(at, simt.Slot, [tiles, slot], [tiles.type])

    def arrive(
        self, at: Operation, ring: _Ring, index: SSAValue, where: SSAValue | None, properties: dict[str, Attribute]
    ) -> None:
        operands = [ring.barriers, index] if where is None else [ring.barriers, index, where]
        insert(at, gpu_mbarrier.MbarrierArrive, operands, [], properties)

    def first_thread(self, at: Operation, where: SSAValue | None, make: Callable[[Operation], object]) -> None:
        """What the thread that issues products does, where `where` holds."""
        thread = emit(at, simt.ThreadId, [], [i32])
        first = compare(at, EQUAL, thread, number(at, 0, i32))
        if where is not None:
            first = emit(at, arith.AndIOp, [first, where], [i1])
        inner, end = Block(), scf.YieldOp.create()
        inner.add_op(end)
        end.location = at.location
        make(end)
        insert(at, scf.IfOp, [first], [], {}, [Region(inner), Region()])

    def release(self, op: pipe.Release, ring: _Ring, slot: SSAValue) -> None:
        """A warp's arrival at "empty". Where the blocks of a cluster fill each other's slots, each must know of all:
        lane r tells block r."""
        lane = self.lane(op)
        if ring.blocks == 1:
            where = compare(op, EQUAL, lane, number(op, 0, i32))
        else:
            where = compare(op, BELOW, lane, number(op, ring.blocks, i32))
        if op.where is not None:
            where = emit(op, arith.AndIOp, [where, op.where], [i1])
        index = add(op, slot, number(op, ring.slots))
        if ring.blocks == 1:
            self.arrive(op, ring, index, where, {})
            return
        rank = emit(op, arith.ExtUIOp, [lane], [i64])
        insert(op, gpu_cluster.RemoteArrive, [ring.barriers, index, rank, where], [], {"reads": UnitAttr()})

    def lane(self, at: Operation) -> SSAValue:
        thread = emit(at, simt.ThreadId, [], [i32])
        return emit(at, arith.AndIOp, [thread, number(at, WARP_SIZE - 1, i32)], [i32])

    # --- the two roles ---------------------------------------------------------------------------------------------

    def split(self, op: pipe.Roles) -> None:
        """The barriers' beginning, then each thread goes its role's way."""
        thread = emit(op, simt.ThreadId, [], [i32])
        first = compare(op, EQUAL, thread, number(op, 0, i32))
        begin = Block()
        self.begin(op, begin)
        insert(op, scf.IfOp, [first], [], {}, [Region(begin), Region()])
        self.meet(op)
        consumer = compare(op, BELOW, thread, number(op, self.consumers, i32))
        work, fill = op.consumers.block, op.producer.block
        self.role(op, work, op.consumer_registers.value.data, 1)
        self.role(op, fill, op.producer_registers.value.data, -1)
        regions = [op.detach_region(region) for region in list(op.regions)]
        chosen = insert(op, scf.IfOp, [consumer], [], {}, regions)
        chosen.attributes[ROLE] = IntegerAttr(self.consumers, i64)
        if any(ring.blocks > 1 for ring in self.rings.values()):
            self.meet(op)  # no block ends while others of its cluster may write to it
        self.kernel.attributes[simt.THREADS] = IntegerAttr(self.consumers + WARP_SIZE * PRODUCER_WARPS, i64)
        self.kernel.attributes[simt.WORKERS] = IntegerAttr(self.consumers, i64)
        self.kernel.attributes[MIN_BLOCKS] = op.blocks

    def meet(self, op: pipe.Roles) -> None:
        """All threads that use the barriers, of the block or of the cluster."""
        if all(ring.blocks == 1 for ring in self.rings.values()):
            insert(op, simt.Barrier)
            return
        insert(op, gpu_cluster.ClusterArrive)
        insert(op, gpu_cluster.ClusterWait)

    def begin(self, op: pipe.Roles, block: Block) -> None:
        end = scf.YieldOp.create()
        end.location = op.location
        block.add_op(end)
        warps = self.consumers // WARP_SIZE
        for ring in self.rings.values():
            for at in range(2 * ring.slots):
                arrivals = 1 if at < ring.slots or ring.by_units else warps * ring.blocks
                count: dict[str, Attribute] = {"count": IntegerAttr(arrivals, i64)}
                insert(end, gpu_mbarrier.MbarrierInit, [ring.barriers, number(end, at)], [], count)
        insert(end, gpu_mbarrier.MbarrierFence)

    def role(self, op: pipe.Roles, block: Block, registers: int, direction: int) -> None:
        """Puts the change of registers in front of a role's work, and a yield behind it. The producer's work is one
        thread's: the block that goes into its region holds it in an `scf.if`."""
        last = block.last_op
        assert last is not None
        end = scf.YieldOp.create()
        end.location = op.location
        block.insert_op_before(end, last)
        block.erase_op(last)
        changed: dict[str, Attribute] = {
            "registers": IntegerAttr(registers, i64),
            "direction": IntegerAttr(direction, i64),
        }
        if direction > 0:
            assert block.first_op is not None
            insert(block.first_op, gpu_mbarrier.SetMaxRegisters, [], [], changed)
            return
        around = Block()
        done = scf.YieldOp.create()
        done.location = op.location
        around.add_op(done)
        insert(done, gpu_mbarrier.SetMaxRegisters, [], [], changed)
        thread = emit(done, simt.ThreadId, [], [i32])
        one = compare(done, EQUAL, thread, number(done, self.consumers, i32))
        region = op.producer
        region.detach_block(block)
        insert(done, scf.IfOp, [one], [], {}, [Region(block), Region()])
        region.add_block(around)


def _read_by_threads(tile: SSAValue) -> bool:
    """Whether anything but a unit that reads past the threads takes a tile."""
    for use in tile.uses:
        op = use.operation
        if isinstance(op, simt.ViewBuffer):
            if _read_by_threads(op.result):
                return True
        elif not isinstance(op, gpu_wgmma.Wgmma | gpu_accumulator.Accumulate):
            return True
    return False


def roles_of(kernel: simt.Kernel) -> pipe.Roles | None:
    """The roles of a kernel, where it has some."""
    return next((op for op in walk(kernel) if isinstance(op, pipe.Roles)), None)
