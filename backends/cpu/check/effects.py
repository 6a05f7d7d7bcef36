"""What each op does to memory and how threads meet in it, as far as the checking mode follows it.

An op that touches arrays or shared memory, or at which threads meet, has a row in `EFFECTS`; all else about it (where
it is recorded, which elements those are, what is compared) follows from the row.

What orders accesses: `Meeting.BLOCK` those of all threads of a block before it with those after it, `Meeting.WARP`
those of a warp's lanes. At `Meeting.LANES` lanes exchange registers and must all be there, but their accesses to
memory stay unordered: CUDA's guide says of shuffles, votes, matches and reductions that they imply no memory barrier.
An atomic on an element that *releases* orders what its thread did before with what another thread does after it
*acquires* by that element later; of relaxed atomics a fence before the one and a fence after the other do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from functools import lru_cache
from typing import Any

from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator, Pure

from tileopt.dialects import simt
from tileopt.dialects.diagnostics import UnsupportedError, location_of
from tileopt.dialects.layout import WARP_SIZE, Layout
from tileopt.dialects.simt_atomic import AtomicCas, AtomicKind, AtomicRmw, Fence
from tileopt.dialects.simt_thread import ElementLoad, ElementStore
from tileopt.dialects.simt_warp import Match, Shuffle, SyncWarp, Vote, WarpReduce
from tileopt.dialects.tile_types import BufferType, ViewType


class Kind(IntEnum):
    """What happens to an element."""

    READ = 0
    WRITE = 1
    UPDATE = 2  # atomically
    REPLACE = 3  # atomically, and what was there is not asked for


class Meeting(IntEnum):
    """Who meets."""

    BLOCK = 0
    WARP = 1
    LANES = 2


class Order(IntFlag):
    """What an atomic, or a fence, keeps in order."""

    RELAXED = 0
    RELEASE = 1
    ACQUIRE = 2
    FENCE = 4
    FORK = 8  # a copy begins that others wait for: all that its thread did is before it


@dataclass(frozen=True, slots=True)
class At:
    """The element at these indices."""

    indices: Sequence[SSAValue]


@dataclass(frozen=True, slots=True)
class Spread:
    """The elements that the thread's registers hold, of the tile that begins at the offsets (a buffer's: at 0).

    `once`: of replicas one thread touches them.
    """

    layout: Layout
    offsets: Sequence[SSAValue] = ()
    once: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """All elements of the lines of a buffer whose place along `axis` is that of one of the thread's registers."""

    layout: Layout
    axis: int


@dataclass(frozen=True, slots=True)
class Whole:
    """All elements of a tile: of a buffer, or of an array from the offsets on. `every`: of so many threads one does it
    for all."""

    shape: tuple[int, ...]
    offsets: Sequence[SSAValue] = ()
    every: int = 1


@dataclass(frozen=True, slots=True)
class Run:
    """`count` elements of a buffer side by side in memory, from the indices on; the first `lanes` of a warp alone."""

    indices: Sequence[SSAValue]
    count: int
    lanes: int = WARP_SIZE


@dataclass(frozen=True, slots=True)
class Touch:
    """One thread's access to elements of an array or a buffer; of an array, those outside it are left alone.

    `order`: of an atomic on one element. `when`: an i1, where only some threads do it.
    """

    memory: SSAValue
    kind: Kind
    where: At | Spread | Lines | Whole | Run
    order: Order = Order.RELAXED
    when: SSAValue | None = None

    @property
    def run_time(self) -> Sequence[SSAValue]:
        """The i64 operands that say where."""
        match self.where:
            case At(indices=indices) | Run(indices=indices):
                return indices
            case Spread(offsets=offsets) | Whole(offsets=offsets):
                return offsets
            case _:
                return ()


Signal = tuple[Order, int]  # a release or an acquire of a thing that lies in no memory, by its number

COPIES = 33  # that are told apart: those that one of 32 barriers in memory counts, and those to arrays
TO_ARRAYS = COPIES - 1
STORES = 16  # the number of the thing by which one waits for copies to arrays; barriers of some threads have 1 to 15


@dataclass(frozen=True, slots=True)
class Effects:
    """What an op does in each thread that comes to it.

    In this order: the meeting, `before`, the fence, then the op itself, its touches, `after`. `copy`: the touches are
    those of a copy that the thread starts (the number of one of COPIES, or what gives it); they come at once.
    """

    touches: tuple[Touch, ...] = ()
    meeting: Meeting | None = None
    fence: bool = False
    before: tuple[Signal, ...] = ()
    after: tuple[Signal, ...] = ()
    copy: SSAValue | int | None = None


def _element(kind: Kind) -> Callable[[Any], Effects]:
    return lambda op: Effects((Touch(op.mem, kind, At(op.indices)),))


_ORDERS = {"acquire": Order.ACQUIRE, "release": Order.RELEASE, "acq_rel": Order.ACQUIRE | Order.RELEASE}


def _order(op: AtomicRmw | AtomicCas) -> Order:
    return Order.RELAXED if op.order is None else _ORDERS.get(op.order.data, Order.RELAXED)


def _rmw(op: AtomicRmw) -> Effects:
    replaces = op.kind.data == AtomicKind.EXCH and not op.result.uses.get_length()
    return Effects((Touch(op.mem, Kind.REPLACE if replaces else Kind.UPDATE, At(op.indices), _order(op)),))


def _cas(op: AtomicCas) -> Effects:
    return Effects((Touch(op.mem, Kind.UPDATE, At(op.indices), _order(op)),))


def _fragment_load(op: simt.FragmentLoad) -> Effects:
    where = Spread(op.layout_over(op.result.type), op.offsets)
    return Effects((Touch(op.view, Kind.READ, where),))


def _fragment_store(op: simt.FragmentStore) -> Effects:
    where = Spread(op.layout_over(op.value.type), op.offsets, once=True)
    return Effects((Touch(op.view, Kind.WRITE, where),))


def _fragment_atomic(op: simt.FragmentAtomic) -> Effects:
    where = Spread(op.layout_over(op.value.type), op.offsets, once=True)
    return Effects((Touch(op.view, Kind.UPDATE, where),))


def _shared_load(op: simt.SharedLoad) -> Effects:
    assert isinstance(op.source.type, BufferType)
    layout = simt.fragment_layout(op.layout, op.source.type.get_shape(), op.result.type)
    return Effects((Touch(op.source, Kind.READ, Spread(layout)),))


def _shared_store(op: simt.SharedStore) -> Effects:
    assert isinstance(op.target.type, BufferType)
    layout = simt.fragment_layout(op.layout, op.target.type.get_shape(), op.value.type)
    return Effects((Touch(op.target, Kind.WRITE, Spread(layout, once=True)),))


def _dot(op: simt.Dot) -> Effects:
    a, b = op.a.type, op.b.type
    assert isinstance(a, BufferType) and isinstance(b, BufferType)
    layout = simt.fragment_layout(op.layout, (a.get_shape()[0], b.get_shape()[1]), op.acc.type)
    return Effects((Touch(op.a, Kind.READ, Lines(layout, 0)), Touch(op.b, Kind.READ, Lines(layout, 1))))


def _barrier(op: simt.Barrier) -> Effects:
    if op.id is not None:
        number = op.id.value.data
        return Effects(before=((Order.RELEASE, number),), after=((Order.ACQUIRE, number),))
    return Effects(meeting=Meeting.BLOCK)


def _meets(meeting: Meeting) -> Callable[[Any], Effects]:
    return lambda op: Effects(meeting=meeting)


EFFECTS: dict[type[Operation], Callable[[Any], Effects]] = {
    ElementLoad: _element(Kind.READ),
    ElementStore: _element(Kind.WRITE),
    AtomicRmw: _rmw,
    AtomicCas: _cas,
    Fence: lambda op: Effects(fence=True),
    simt.FragmentLoad: _fragment_load,
    simt.FragmentStore: _fragment_store,
    simt.FragmentAtomic: _fragment_atomic,
    simt.SharedLoad: _shared_load,
    simt.SharedStore: _shared_store,
    simt.Dot: _dot,
    simt.Barrier: _barrier,
    SyncWarp: _meets(Meeting.WARP),
    simt.ShuffleXor: _meets(Meeting.LANES),
    Shuffle: _meets(Meeting.LANES),
    Vote: _meets(Meeting.LANES),
    Match: _meets(Meeting.LANES),
    WarpReduce: _meets(Meeting.LANES),
}


@lru_cache(maxsize=1)
def _rows() -> dict[type[Operation], Callable[[Any], Effects]]:
    from tileopt.backends.cpu.check.hardware import EFFECTS as HARDWARE

    return {**EFFECTS, **HARDWARE}


def effects_of(op: Operation) -> Effects | None:
    """The op's row, or None for one that touches no memory. Raises UnsupportedError for what is not followed."""
    row = _rows().get(type(op))
    if row is not None:
        return row(op)
    memories = any(isinstance(v.type, BufferType | ViewType) for v in op.operands)
    if memories and not op.regions and not op.has_trait(Pure) and not op.has_trait(IsTerminator):
        raise not_followed(op, f"'{op.name}'")
    return None


def not_followed(op: Operation, what: str) -> UnsupportedError:
    """The error for an op without a row."""
    return UnsupportedError(
        "backend/unsupported-op",
        f"the checking mode does not follow {what}",
        location=location_of(op),
        help="run it on the target cpu",
    )
