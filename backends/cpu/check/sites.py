"""The sites of a kernel: each access of an op to one memory and each meeting, by number; what a record of it means.

A record is a word with the site's number in its low and the thread's number in its high 32 bits, then the site's
words: the address of a buffer, the indices or offsets. All records of a kernel are equally long. The numbers below
`FIRST` mark where a block begins (its word: the block's number), a barrier opens, a thread ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tileopt.backends.cpu import requests
from tileopt.backends.cpu.check.effects import (
    COPIES,
    At,
    Kind,
    Lines,
    Meeting,
    Order,
    Run,
    Spread,
    Touch,
    Whole,
    effects_of,
)
from tileopt.backends.llvm import types
from tileopt.backends.llvm.faults import memory_name, tested_axes
from tileopt.dialects import simt
from tileopt.dialects.diagnostics import Location, UnsupportedError, location_of
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.layout import WARP_SIZE, Layout, SharedLayout
from tileopt.dialects.simt_thread import ElementStore
from tileopt.dialects.tile_types import Access, BufferType, ViewType

BLOCK, OPENING, END, FIRST = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Place:
    """Which elements a record of a site stands for: see `effects.At`, `Spread`, `Lines`, `Whole` and `Run`.

    `whole`: the tile's extents. `run`: elements side by side. `every`, `lanes`: which threads' records count.
    """

    layout: Layout | None = None
    axis: int | None = None
    once: bool = False
    whole: tuple[int, ...] | None = None
    run: int = 1
    every: int = 1
    lanes: int = WARP_SIZE


@dataclass(frozen=True, slots=True)
class Memory:
    """An array (`argument`: its place among the kernel's arguments) or a buffer in shared memory.

    `made`: where a buffer is made. `shared`: how its elements lie. `size`: bytes of an element.
    """

    name: str
    size: int
    rank: int
    argument: int | None = None
    shared: SharedLayout | None = None
    made: Location | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """`harmless`: all threads that come here write one and the same value, so that no order matters among them.

    `around`: the innermost condition or loop around a meeting. `order`: of an atomic, or `FENCE`, or `FORK`; `thing`:
    what is released or acquired where it is no element of memory.
    """

    location: Location | None
    kind: Kind = Kind.READ
    memory: Memory | None = None
    place: Place = Place()
    meeting: Meeting | None = None
    harmless: bool = False
    around: Location | None = None
    order: Order = Order.RELAXED
    thing: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A record that an op writes: of the site `number`, `early` before the op does its work. `copy`: by the copy."""

    number: int
    touch: Touch | None = None
    early: bool = True
    copy: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """What is known of a kernel's records.

    `words`: of each, after the first. `threads`: of a block; `copies` are counted on behind them. `homes`: where what
    is accessed comes from, by the number of the test of an index (see `faults.check_sites`).
    """

    sites: tuple[Site, ...]  # the first has the number FIRST
    words: int
    threads: int
    kernel: Location | None
    homes: tuple[Location | None, ...]
    copies: int = 0

    def site(self, number: int) -> Site:
        return self.sites[number - FIRST]


def words_of(touch: Touch) -> int:
    return len(touch.run_time) + isinstance(touch.memory.type, BufferType)


def recorded(touch: Touch) -> bool:
    """Whether a touch is of use: an array that is only read has no races (the host lets no other overlap it)."""
    type_ = touch.memory.type
    return not isinstance(type_, ViewType) or type_.access.data != Access.SHARED


def trace_of(kernel: KernelOp) -> Trace | None:
    """The kernel's trace; None for one with ops of the hardware's own that are not followed."""
    assert isinstance(kernel, simt.Kernel)
    try:
        return number_sites(kernel)[0]
    except UnsupportedError:
        if requests.needed(kernel):
            return None
        raise


def number_sites(kernel: KernelOp) -> tuple[Trace, dict[Operation, list[Entry]]]:
    """The kernel's trace, and what each op records. Raises UnsupportedError for an op that is not followed."""
    sites: list[Site] = []
    entries: dict[Operation, list[Entry]] = {}
    harmless = _harmless(kernel)
    words, copies = 1, 0

    def add(op: Operation, site: Site, touch: Touch | None = None, early: bool = True, copy: bool = False) -> None:
        entries[op].append(Entry(FIRST + len(sites), touch, early, copy))
        sites.append(site)

    for op in kernel.body.walk():
        effects = effects_of(op)
        if effects is None:
            continue
        entries[op], place = [], location_of(op)
        if effects.meeting is not None:
            add(op, Site(place, meeting=effects.meeting, around=requests.around(op)))
        for order, thing in effects.before:
            add(op, Site(place, order=order, thing=thing))
        if effects.fence:
            add(op, Site(place, order=Order.FENCE))
        copy = effects.copy is not None
        if copy:
            copies = COPIES
            add(op, Site(place, order=Order.FORK))
        for touch in filter(recorded, effects.touches):
            words = max(words, words_of(touch))
            memory, same = _memory(kernel, touch.memory), op in harmless
            site = Site(place, touch.kind, memory, _place(touch), harmless=same, order=touch.order)
            # What releases is done before others can know of it.
            add(op, site, touch, copy or bool(touch.order & Order.RELEASE and not touch.order & Order.ACQUIRE), copy)
        for order, thing in effects.after:
            add(op, Site(place, order=order, thing=thing), None, copy, copy)
    threads = kernel.attributes.get(simt.THREADS)
    count = getattr(threads, "value", None)
    homes = tuple(_home(kernel, op) for op in kernel.body.walk() for _ in tested_axes(op))
    number = 32 if count is None else count.data
    return Trace(tuple(sites), words, number, location_of(kernel), homes, copies), entries


def _home(kernel: KernelOp, op: Operation) -> Location | None:
    """Where the shared memory that an op accesses is made, or the kernel whose argument the array is."""
    for value in op.operands:
        if isinstance(value.type, BufferType) and isinstance(owner := _root(value).owner, Operation):
            return location_of(owner)
    return location_of(kernel)


def _place(touch: Touch) -> Place:
    match touch.where:
        case Spread(layout=layout, once=once):
            return Place(layout, None, once)
        case Lines(layout=layout, axis=axis):
            return Place(layout, axis)
        case Whole(shape=shape, every=every):
            return Place(whole=shape, every=every)
        case Run(count=count, lanes=lanes):
            return Place(run=count, lanes=lanes)
        case At():
            return Place()


def _memory(kernel: KernelOp, value: SSAValue) -> Memory:
    type_ = value.type
    assert isinstance(type_, ViewType | BufferType)
    size = types.bytes_of(types.memory_type(types.llvm_type(type_.element_type)))
    if isinstance(type_, ViewType):
        assert isinstance(value, BlockArgument)
        return Memory(kernel.arg_name(value.index), size, type_.rank, argument=value.index)
    root = _root(value)
    made = location_of(root.owner) if isinstance(root.owner, Operation) else None
    return Memory(memory_name(kernel, root), size, type_.rank, shared=type_.shared_layout, made=made)


def _root(buffer: SSAValue) -> SSAValue:
    """The allocation that a buffer is, or is a part of."""
    while isinstance(buffer.owner, simt.Slot | simt.ViewBuffer):
        buffer = buffer.owner.operands[0]
    if isinstance(buffer.owner, Block) and isinstance(buffer, BlockArgument):
        loop = buffer.owner.parent_op()
        if isinstance(loop, scf.ForOp):
            return _root(loop.iter_args[buffer.index - 1])
    return buffer


def _harmless(kernel: KernelOp) -> set[Operation]:
    """Stores to shared memory of a value that is the same in all threads; `verify-barriers` knows the same."""
    stores = [op for op in kernel.body.walk() if isinstance(op, ElementStore) and isinstance(op.mem.type, BufferType)]
    if not stores:
        return set()
    from tileopt.passes.analysis.facts import analyse
    from tileopt.passes.safety.divergence import Divergence

    divergence = Divergence(kernel, analyse(kernel))
    return {op for op in stores if not divergence.divergent(op.value)}
