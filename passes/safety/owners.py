"""Who owns memory in a kernel, blocks or threads, and the accesses of theirs that must keep apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation, SSAValue

from tileopt.dialects import simt, tile
from tileopt.dialects.gpu_tma import TmaStore
from tileopt.dialects.kernel import BLOCK, KernelOp
from tileopt.dialects.simt_thread import ElementLoad, ElementStore, ThreadIdx
from tileopt.dialects.tile_types import ViewType, tile_shape
from tileopt.passes.analysis.accesses import name_of, shape_of
from tileopt.passes.analysis.affine import Expr, Symbol, shown
from tileopt.passes.analysis.facts import KernelFacts, analyse
from tileopt.passes.analysis.kernel_facts import thread
from tileopt.passes.analysis.symbols import exact
from tileopt.passes.safety.instance import Instance

OwnedOp: TypeAlias = tile.Load | tile.Store | ElementLoad | ElementStore | TmaStore
STORES = (tile.Store, ElementStore, TmaStore)


class OwnedAccess:
    """One load or store of an owned array with its offsets as expressions."""

    def __init__(self, facts: KernelFacts, op: OwnedOp) -> None:
        self.op: Operation = op
        self.stores = isinstance(op, STORES)
        self.of_tile = isinstance(op, tile.Load | tile.Store)
        self.view = memory_of(op)
        self.name = name_of(facts, self.view)
        offsets = op.indices if isinstance(op, ElementLoad | ElementStore) else op.offsets
        self.extents = _extents(op)
        self.offsets = [facts.of(o).expr for o in offsets]
        self.scope = facts.scope(op)
        inside = []
        for axis, (offset, extent) in enumerate(zip(self.offsets, self.extents, strict=True)):
            inside += [facts.dim(self.view, axis) - offset - 1, offset + extent - 1]
        self.known = [*self.scope.known, *inside]
        self.loops = [loop for loop in parents(op) if isinstance(loop, scf.ForOp)]

    @cached_property
    def instance(self) -> Instance:
        """What is known of a run; where families prove everything, nobody asks."""
        return Instance(self.known, self.offsets, self.scope.bounds)

    @property
    def index(self) -> str:
        """The access as messages show it: out[64*bid(0), 0]."""
        offsets = [shown(exact(offset), f"<offset {axis}>") for axis, offset in enumerate(self.offsets)]
        return f"{self.name}[{', '.join(offsets)}]"


@dataclass(frozen=True)
class Owners:
    """What tells one owner from another: block ids along `axes` of the grid, and of threads their places in the block.

    `unsure`: the block's extents are not known, so there may be threads that no symbol tells apart.
    """

    bids: list[Symbol]
    threads: list[Symbol]
    axes: list[int]
    of_threads: bool
    unsure: bool = False

    @property
    def symbols(self) -> list[Symbol]:
        return self.bids + self.threads

    @property
    def noun(self) -> str:
        return "threads" if self.of_threads else "blocks"


def owners_of(facts: KernelFacts, kernel: KernelOp, axes: list[int]) -> Owners:
    """The owners of a kernel that uses block ids along `axes`."""
    bids = [_symbol(facts.bid(a)) for a in axes]
    if not isinstance(kernel, simt.Kernel):
        return Owners(bids, [], axes, False)
    block = kernel.attributes.get(BLOCK)
    if isinstance(block, DenseArrayBase):
        threads = [_symbol(thread(facts, a)) for a, n in enumerate(block.get_values()) if int(n) > 1]
        return Owners(bids, threads, axes, True)
    linear = facts.launch.get(("thread", -1))
    if linear is not None:
        return Owners(bids, [_symbol(linear)], axes, True)
    used = sorted({op.axis.value.data for op in kernel.walk() if isinstance(op, ThreadIdx)})
    return Owners(bids, [_symbol(thread(facts, a)) for a in used], axes, True, unsure=used != [0, 1, 2])


def parties(facts: KernelFacts, kernel: KernelOp, axes: list[int]) -> list[tuple[list[OwnedAccess], Owners]]:
    """The accesses to owned arrays and those who must keep apart in them. In a kernel of threads that stores tiles as
    well, threads keep apart among themselves, and so do blocks in the arrays that tiles of them come from or go to:
    within a block, barriers order tiles and threads."""
    found = owned_accesses(facts, kernel)
    made = [([a for a in found if not a.of_tile], owners_of(facts, kernel, axes))]
    views = {a.view for a in found if a.of_tile}
    if views:
        blocks = Owners([_symbol(facts.bid(a)) for a in axes], [], axes, False)
        made.append(([a for a in found if a.view in views], blocks))
    return made


def owned_accesses(facts: KernelFacts, kernel: KernelOp) -> list[OwnedAccess]:
    """The accesses to owned arrays that the kernel stores to, in program order."""
    found = [op for op in kernel.walk() if isinstance(op, OwnedOp) and _is_owned(memory_of(op)) and not unchecked(op)]
    written = {memory_of(op) for op in found if isinstance(op, STORES)}
    return [OwnedAccess(facts, op) for op in found if memory_of(op) in written]


def unchecked(op: Operation) -> bool:
    """Whether the author answers for an access."""
    return "unchecked" in op.properties


def unchecked_stores(kernel: KernelOp) -> list[OwnedAccess]:
    """The stores that are not verified, in program order."""
    found = [op for op in kernel.walk() if isinstance(op, STORES) and unchecked(op)]
    if not found:
        return []
    facts = analyse(kernel)
    return [OwnedAccess(facts, op) for op in found]


def memory_of(op: OwnedOp) -> SSAValue:
    return op.mem if isinstance(op, ElementLoad | ElementStore) else op.view


def _extents(op: OwnedOp) -> tuple[int, ...]:
    """Of the part of the array that is touched."""
    if isinstance(op, TmaStore):
        return tile_shape(op.buffer.type)
    return (1,) * len(op.indices) if isinstance(op, ElementLoad | ElementStore) else shape_of(op)


def parents(op: Operation) -> list[Operation]:
    """The ops around `op`, outermost first."""
    found: list[Operation] = []
    parent = op.parent_op()
    while parent is not None:
        found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def _is_owned(memory: SSAValue) -> bool:
    return isinstance(memory.type, ViewType) and memory.type.owned


def _symbol(e: Expr) -> Symbol:
    (symbol,) = e.symbols()
    return symbol
