"""What an op of the SIMT level reads and writes, and whether two such accesses by different threads may conflict.

Shared memory is named by what made it (and the bytes it lies in, once they are chosen), global memory by the kernel's
view argument: the host checks that different arguments do not overlap.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryEffectKind, Pure, get_effects

from tileopt.dialects import (
    gpu,
    gpu_accumulator,
    gpu_cluster,
    gpu_mbarrier,
    gpu_tensor,
    gpu_tma,
    gpu_wgmma,
    simt,
)
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.layout import Layout
from tileopt.dialects.simt_thread import DynamicShared
from tileopt.dialects.tile_types import BufferType, ViewType
from tileopt.passes.lowering.linear_forms import Linear, linear_form, modular_form

# Where along each axis an access begins (None: not known), and by how much the place moved with each iteration since.
Place = tuple[Linear | None, ...]
Drift = tuple[int, ...]

Shared: TypeAlias = simt.AllocShared | DynamicShared
Memory: TypeAlias = simt.AllocShared | DynamicShared | gpu_accumulator.Accumulator
FIRST_THREAD = ((0,),)  # owners of what the block's first thread does alone

_MOST_ITERATIONS = 64  # between two accesses that are told apart


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One read or write by all threads of a block.

    `memory`: what made a buffer, or a view. `place`: the slot of a ring, or the element offsets into the view. `drift`:
    where a view was accessed in an earlier iteration of a loop around, the place's advance in each; its place is then
    `place - k * drift` for some k >= 1. (An earlier iteration's slot is one of few, and known.) `extents`: of the tile,
    for a view. `owners`: accesses of the same place with equal owners touch each element from one and the same thread;
    None where that is not known. `by_thread`: each thread makes it where the source says so, not all together.
    `source`: what is the same for one access as seen from elsewhere.
    """

    memory: Operation | SSAValue
    write: bool
    place: Place
    extents: tuple[int, ...] = ()
    owners: tuple[Attribute | tuple[int, ...], ...] | None = None
    drift: Drift = ()
    by_thread: bool = False
    source: object = field(default_factory=object)

    @property
    def key(self) -> Hashable:
        """What tells it from all others; comparing all fields would take long."""
        return self.source, self.place, self.drift


def accesses(op: Operation) -> Iterator[Access]:
    """The accesses to shared and global memory of an op without regions."""
    match op:
        case simt.FragmentLoad() | simt.FragmentStore():
            yield _global_access(
                op.view, op.offsets, op.shape.get_values(), op.layout, isinstance(op, simt.FragmentStore)
            )
        case simt.SharedLoad():
            yield from _shared(op.source, False, op.layout)
        case simt.SharedStore():
            yield from _shared(op.target, True, op.layout)
        case gpu.CpAsync():
            assert isinstance(op.target.type, BufferType)
            yield _global_access(op.view, op.offsets, op.target.type.get_shape(), op.layout, False)
            yield from _shared(op.target, True, op.layout)
        case gpu_wgmma.Wgmma():
            for operand in (op.a, op.b):
                if isinstance(operand.type, BufferType):
                    yield from _shared(operand, False, None)
        case gpu_accumulator.Accumulate():
            for operand in (op.a, op.b):
                yield from _shared(operand, False, None)
            yield _tensor(op.accumulator, True, FIRST_THREAD)
        case gpu_accumulator.AccumulatorLoad() | gpu_accumulator.AccumulatorStore():
            owners = (op.layout, op.shape)
            yield _tensor(op.accumulator, isinstance(op, gpu_accumulator.AccumulatorStore), owners)
        case gpu_tma.TmaStore():
            assert isinstance(op.buffer.type, BufferType)
            yield from _shared(op.buffer, False, None)
            places = tuple(map(linear_form, op.offsets))
            yield Access(op.view, True, places, op.buffer.type.get_shape())
        case simt.FragmentAtomic():
            return  # nothing else touches its array, and atomics need no order
        case (
            gpu_tma.TmaLoad()
            | gpu_mbarrier.MbarrierInit()
            | gpu_mbarrier.MbarrierArrive()
            | gpu_mbarrier.MbarrierWait()
            | gpu_cluster.RemoteArrive()
            | gpu_tensor.Tcgen05Commit()
        ):
            return  # ordered by barriers in memory
        case _:
            yield from _by_effects(op)


def _by_effects(op: Operation) -> Iterator[Access]:
    """Any other op reads and writes, as its effects say, those of its operands that are memory."""
    memories = [v for v in op.operands if isinstance(v.type, BufferType | ViewType)]
    if not memories or op.has_trait(Pure) or op.has_trait(IsTerminator):
        return
    effects = get_effects(op)
    kinds = None if effects is None else {e.kind for e in effects}
    for write, kind in ((False, MemoryEffectKind.READ), (True, MemoryEffectKind.WRITE)):
        if kinds is not None and kind not in kinds:
            continue
        for value in memories:
            if isinstance(value.type, ViewType):
                yield Access(value, write, (None,) * value.type.rank, (1,) * value.type.rank)
            else:
                yield from _shared(value, write, None)


def _global_access(
    view: SSAValue, offsets: Sequence[SSAValue], shape: Sequence[int | float], layout: LayoutAttr, write: bool
) -> Access:
    extents = tuple(int(n) for n in shape)
    owners = None if _has_replicas(layout.over(extents)) else (layout, extents)
    return Access(view, write, tuple(map(linear_form, offsets)), extents, owners)


def _shared(buffer: SSAValue, write: bool, layout: LayoutAttr | None) -> Iterator[Access]:
    assert isinstance(buffer.type, BufferType)
    owners: tuple[Attribute, ...] | None = None
    if layout is not None and not _has_replicas(layout.over(buffer.type.get_shape())):
        owners = (layout, buffer.type)
    for alloc, slot in allocations(buffer):
        yield Access(alloc, write, (slot,), (), owners)


def _tensor(accumulator: SSAValue, write: bool, owners: tuple[Attribute | tuple[int, ...], ...]) -> Access:
    """An access to an accumulator in tensor memory."""
    place = accumulator.owner
    assert isinstance(place, gpu_accumulator.Accumulator)
    return Access(place, write, (Linear(frozenset()),), (), owners)


def _has_replicas(layout: Layout) -> bool:
    return bool(layout.replica_lanes or layout.replica_warps)


def allocations(buffer: SSAValue) -> list[tuple[Memory, Linear | None]]:
    """The allocations that `buffer` may lie in, each with the slot as a form modulo its number of slots."""
    found: dict[Memory, Linear | None] = {}
    seen: set[SSAValue] = set()
    pending: list[tuple[SSAValue, SSAValue | None]] = [(buffer, None)]
    while pending:
        value, index = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        match value.owner:
            case simt.AllocShared() as alloc:
                slots = slots_of(alloc)
                slot = Linear(frozenset()) if slots == 1 else None if index is None else modular_form(index, slots)
                found[alloc] = slot if alloc not in found or found[alloc] == slot else None
            case DynamicShared() as op:
                found[op] = Linear(frozenset())
            case simt.Slot() as op:
                pending.append((op.ring, op.index))
            case simt.ViewBuffer() as op:
                pending.append((op.source, index))
            case _:
                pending += [(source, None) for source in _sources(value)]
    if len(seen) > 1 and len(found) > 1:
        return [(alloc, None) for alloc in found]
    return list(found.items())


def _sources(value: SSAValue) -> Iterator[SSAValue]:
    """The buffers that one which is carried by control flow, or chosen, may be."""
    if isinstance(value, BlockArgument):
        parent = value.block.parent_op()
        if parent is not None:
            yield from carried_buffers(parent)
        return
    op = value.owner
    assert isinstance(op, Operation)
    yield from carried_buffers(op)


def carried_buffers(op: Operation) -> Iterator[SSAValue]:
    """The buffers that go into an op or through its regions."""
    for source in (op, *(b.last_op for r in op.regions for b in r.blocks)):
        if source is not None:
            yield from (v for v in source.operands if isinstance(v.type, BufferType))


def slots_of(alloc: Memory) -> int:
    return alloc.slots.value.data if isinstance(alloc, simt.AllocShared) and alloc.slots is not None else 1


def bytes_of(alloc: Shared) -> int:
    """Bytes of shared memory that the allocation takes, all slots together."""
    type_ = alloc.result.type
    assert isinstance(type_, BufferType)
    return slots_of(alloc) * type_.shared_layout.size * bit_width(type_.element_type) // 8


def conflict(earlier: Access, later: Access) -> bool:
    """Whether different threads may make the two accesses to one element, one of them a write."""
    if not (earlier.write or later.write):
        return False
    if earlier.memory is not later.memory:
        return _overlap(earlier.memory, later.memory)
    slots = slots_of(later.memory) if isinstance(later.memory, Memory) else None
    owned = earlier.owners is not None and earlier.owners == later.owners
    for distances in _distances(earlier, later, slots):
        if slots is None:
            apart = any(
                d is not None and (d >= before or d <= -after)
                for d, before, after in zip(distances, earlier.extents, later.extents, strict=True)
            )
        else:
            apart = distances[0] is not None and distances[0] != 0
        if not apart and not (owned and all(d == 0 for d in distances)):
            return True
    return False


def _overlap(a: Operation | SSAValue, b: Operation | SSAValue) -> bool:
    """Whether two different memories share bytes: allocations may where they were given a place, views that the host
    did not check may."""
    if isinstance(a, SSAValue) and isinstance(b, SSAValue):
        return not (_is_parameter(a) and _is_parameter(b))
    if isinstance(a, gpu_accumulator.Accumulator) and isinstance(b, gpu_accumulator.Accumulator):
        if a.start is None or b.start is None:
            return False
        begin_a, begin_b = a.start.value.data, b.start.value.data
        return begin_a < begin_b + b.columns.value.data and begin_b < begin_a + a.columns.value.data
    if not isinstance(a, Shared) or not isinstance(b, Shared) or a.offset is None or b.offset is None:
        return False
    if isinstance(a, DynamicShared) is not isinstance(b, DynamicShared):
        return False  # the dynamic part follows the static one, from where its offsets count
    begin_a, begin_b = a.offset.value.data, b.offset.value.data
    return begin_a < begin_b + bytes_of(b) and begin_b < begin_a + bytes_of(a)


def _is_parameter(view: SSAValue) -> bool:
    return isinstance(view, BlockArgument) and isinstance(view.block.parent_op(), KernelOp)


def _distances(earlier: Access, later: Access, slots: int | None) -> Iterator[list[int | None]]:
    """How far the later place may lie beyond the earlier, on each axis (None: not known; slots: modulo their number).

    Where it drifts, one for each number of iterations between the two, until the tiles have left one another behind.
    """
    known: list[int | None] = [
        None if before is None or after is None else after.minus(before)
        for before, after in zip(earlier.place, later.place, strict=True)
    ]
    if slots is not None:
        yield [None if d is None else d % slots for d in known]
        return
    if not earlier.drift:
        yield known
        return
    moving = [(abs(d), abs(s)) for d, s in zip(known, earlier.drift, strict=True) if d is not None and s]
    reach = max((*earlier.extents, *later.extents))
    last = min((-(-(far + reach) // step) for far, step in moving), default=1)
    if last > _MOST_ITERATIONS:
        yield [None] * len(known)
        return
    for k in range(1, last + 1):
        yield [None if d is None else d + k * s for d, s in zip(known, earlier.drift, strict=True)]
