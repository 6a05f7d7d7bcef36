"""insert-fences: barriers where threads of a block would otherwise race, and nowhere else.

From: simt+gpu, preferably with the places of shared memory chosen (allocations that share bytes are one memory then).
To: the same with `simt.barrier`. Invariant: between two accesses of which one is a write, to one element of shared or
global memory, by different threads, there is a barrier; an asynchronous copy has been waited for by its thread before
that barrier. No barrier follows another without an access between them.

A barrier stands directly before the later access of the first race that nothing else orders, which is the fewest on a
straight line. Control flow is settled from the inside out: first the barriers that a loop or an `scf.if` needs
whatever stands before it, then one in front of it where it races with that. So what is written once before a loop
costs one barrier, not one in each iteration. Conditions are the same for all threads of the block at this level, so a
barrier may stand anywhere. Barriers that are there already are kept, and made use of.

Where the source itself says where threads meet (`simt.manual_barriers`), conditions may differ, and what threads do to
each other is the source's to order. Only what they do together (`simt.together`), on tiles, is ordered with the rest,
by barriers outside of any `if` or loop in which nothing is done together.

Asynchronous copies: `gpu.cp_async` races with what comes before it as an ordinary access does. For what comes after,
it counts from the `gpu.cp_async_wait` that covers its group; to read its tile without such a wait is an error in what
emitted it, which no barrier mends.

Where the kernel has units that read shared memory past its threads (wgmma, tcgen05, bulk copies), every barrier orders
those too (`proxy`). In a role only the role's threads meet.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import gpu, gpu_accumulator, gpu_tma, gpu_wgmma, simt
from tileopt.dialects.kernel import MANUAL_BARRIERS
from tileopt.dialects.verifier import walk
from tileopt.passes.lowering.accesses import Access, accesses, conflict
from tileopt.passes.lowering.lower_roles import ROLE
from tileopt.passes.lowering.seen_from_loops import after_iteration, after_loop, first_slot, in_terms_of

ROLE_BARRIER = 1  # the hardware's barrier that the consumers meet at; 0 is the block's


@dataclass(frozen=True)
class InsertFences(ModulePass):
    name = "insert-fences"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, simt.Kernel):
                insert_fences(kernel)


def insert_fences(kernel: simt.Kernel) -> None:
    """Inserts the barriers that `kernel` needs."""
    ops = tuple(walk(kernel))
    manual = MANUAL_BARRIERS in kernel.attributes
    if manual and not any(simt.TOGETHER in op.attributes for op in ops):
        return
    pending = max((op.pending.value.data for op in ops if isinstance(op, gpu.CpAsyncWait)), default=0)
    analysis = _Fences(pending, manual)
    for op in reversed(ops):  # inner ops first
        if op.regions and not analysis.by_threads(op):
            analysis.settle(op, _NOTHING)
    for op in ops:
        for region in op.regions:
            for block in region.blocks:
                analysis.drop_doubled(block)
    past_threads = any(isinstance(op, gpu_wgmma.Wgmma | gpu_tma.TmaStore | gpu_accumulator.Accumulate) for op in ops)
    for op in walk(kernel):
        if isinstance(op, simt.Barrier):
            if past_threads:
                op.proxy = UnitAttr()
            _of_role(op)


@dataclass(frozen=True, slots=True)
class _State:
    """What may have happened on the way to a point of the program.

    `pending`: accesses that no barrier follows. `flying`: asynchronous ones that no wait covers, each with the number
    of groups committed since.
    """

    pending: frozenset[Access] = frozenset()
    flying: frozenset[tuple[Access, int]] = frozenset()

    def __or__(self, other: _State) -> _State:
        return _State(self.pending | other.pending, self.flying | other.flying)


_NOTHING = _State()
_STEPS = (simt.Barrier, gpu.CpAsyncCommit, gpu.CpAsyncWait)


@dataclass(slots=True)
class _Placement:
    """Ops to put a barrier before. `fixed`: none may be added; a race is noted in `raced` instead."""

    fixed: bool
    before: set[Operation] = field(default_factory=set)
    raced: bool = False


class _Fences:
    def __init__(self, most_pending: int, manual: bool) -> None:
        self.manual = manual
        self.apart: dict[Operation, bool] = {}
        self.most_groups = most_pending + 1  # more groups committed since make no difference to any wait
        self.made: dict[Operation, list[Access]] = {}
        self.steps: dict[Block, list[Operation]] = {}
        self.one: dict[Hashable, Access] = {}
        self.first: dict[tuple[Access, Operation], Access] = {}
        self.later: dict[tuple[Access, Operation], tuple[Access, Access]] = {}

    # --- placing barriers ------------------------------------------------------------------------------------------

    def settle(self, op: Operation, entry: _State) -> None:
        """Places the barriers that the regions of `op` need where they are entered so. Regions in them are settled."""
        placement = _Placement(fixed=False)
        if isinstance(op, scf.ForOp | scf.WhileOp):
            entry = self.entered(op, entry)
            while (again := entry | self.iteration(op, entry, placement)) != entry:
                entry, placement = again, _Placement(fixed=False)
        else:
            for region in op.regions:
                for block in region.blocks:
                    self.block(block, entry, placement)
        for before in placement.before:
            _insert_barrier(before)
            self.steps.pop(before.parent, None)  # type: ignore[arg-type]

    # --- what an op does to the state ------------------------------------------------------------------------------

    def block(self, block: Block, state: _State, placement: _Placement) -> _State:
        for op in self.steps_of(block):
            inner = op.regions and not self.by_threads(op)
            state = self.structured(op, state, placement) if inner else self.op(op, state, placement)
        return state

    def by_threads(self, op: Operation) -> bool:
        """Whether an op with regions is one step here: in it threads go ways of their own, and barriers have no place.
        What it holds is read and written by threads alone."""
        if not self.manual or isinstance(op, simt.Kernel):
            return False
        if op not in self.apart:
            self.apart[op] = not any(
                simt.TOGETHER in inner.attributes or isinstance(inner, simt.Barrier) for inner in op.walk()
            )
        return self.apart[op]

    def steps_of(self, block: Block) -> list[Operation]:
        """The ops of a block that change the state or may race."""
        if block not in self.steps:
            self.steps[block] = [op for op in block.ops if op.regions or isinstance(op, _STEPS) or self.accesses(op)]
        return self.steps[block]

    def structured(self, op: Operation, state: _State, placement: _Placement) -> _State:
        """An op whose regions have the barriers that they need by themselves."""
        check = _Placement(fixed=True)
        after = self.through(op, state, check)
        if not check.raced:
            return after
        placement.raced = True
        if placement.fixed:
            return after
        flying = _State(frozenset(), state.flying)
        if self.races(op, flying):  # copies that a wait inside makes arrive: no barrier before it can order those
            self.settle(op, flying)
        if self.races(op, state):
            placement.before.add(op)
            state = flying
        return self.through(op, state, check)

    def races(self, op: Operation, state: _State) -> bool:
        check = _Placement(fixed=True)
        self.through(op, state, check)
        return check.raced

    def through(self, op: Operation, state: _State, check: _Placement) -> _State:
        """What is true after an op with regions, as they are."""
        match op:
            case scf.ForOp() | scf.WhileOp():
                state = self.entered(op, state)
                while (again := state | self.iteration(op, state, check)) != state:
                    state = again
                if isinstance(op, scf.WhileOp):
                    state = self.block(op.before_region.block, state, check)
                return _State(
                    frozenset(self.seen_after(a, op)[1] for a in state.pending),
                    frozenset((self.seen_after(a, op)[1], n) for a, n in state.flying),
                )
            case _:
                ends = [self.block(block, state, check) for region in op.regions for block in region.blocks]
                if any(region.first_block is None for region in op.regions) or not ends:
                    ends.append(state)  # an `scf.if` without else
                out = ends[0]
                for end in ends[1:]:
                    out |= end
                return out

    def entered(self, loop: scf.ForOp | scf.WhileOp, state: _State) -> _State:
        """What a loop's first iteration sees of what stands before it: slots as the loop counts them."""
        if not isinstance(loop, scf.ForOp):
            return state
        return _State(
            frozenset(self.seen_first(a, loop) for a in state.pending),
            frozenset((self.seen_first(a, loop), n) for a, n in state.flying),
        )

    def seen_first(self, access: Access, loop: scf.ForOp) -> Access:
        if len(access.place) != 1 or access.place[0] is None or access.place[0].terms:
            return access
        key = (access, loop)
        if key not in self.first:
            inside = (a for op in loop.walk() for a in self.accesses(op) if a.memory is access.memory)
            found = None if isinstance(access.memory, SSAValue) else first_slot(loop, inside)
            self.first[key] = access if found is None else self.the(in_terms_of(access, *found))
        return self.first[key]

    def iteration(self, op: scf.ForOp | scf.WhileOp, state: _State, placement: _Placement) -> _State:
        """The state at the end of an iteration as the next one sees it."""
        for region in op.regions:
            state = self.block(region.block, state, placement)
        return _State(
            frozenset(self.seen_after(a, op)[0] for a in state.pending),
            frozenset((self.seen_after(a, op)[0], n) for a, n in state.flying),
        )

    def seen_after(self, access: Access, loop: Operation) -> tuple[Access, Access]:
        """What an access is to the loop's next iteration, and to what follows the loop."""
        key = (access, loop)
        if key not in self.later:
            self.later[key] = self.the(after_iteration(access, loop)), self.the(after_loop(access, loop))
        return self.later[key]

    def the(self, access: Access) -> Access:
        """The one object for accesses that are the same."""
        return self.one.setdefault(access.key, access)

    def op(self, op: Operation, state: _State, placement: _Placement) -> _State:
        match op:
            case simt.Barrier():
                return _State(frozenset(), state.flying)
            case gpu.CpAsyncCommit():
                flying = frozenset((a, min(n + 1, self.most_groups)) for a, n in state.flying)
                return _State(state.pending, flying)
            case gpu.CpAsyncWait():
                pending = op.pending.value.data
                arrived = frozenset((a, n) for a, n in state.flying if n > pending)
                return _State(state.pending | {a for a, _ in arrived}, state.flying - arrived)
        made = self.accesses(op)
        if any(self.conflict(a, b) for b in made for a in state.pending):
            placement.raced = True
            if not placement.fixed:
                placement.before.add(op)
                state = _State(frozenset(), state.flying)
        if isinstance(op, gpu.CpAsync):
            return _State(state.pending, state.flying | {(a, 0) for a in made})
        return _State(state.pending.union(made), state.flying)

    def conflict(self, earlier: Access, later: Access) -> bool:
        """Whether the two need a barrier between them that the source does not have to give."""
        return not (self.manual and earlier.by_thread and later.by_thread) and conflict(earlier, later)

    def accesses(self, op: Operation) -> list[Access]:
        if op not in self.made:
            found: list[Access] = []
            for inner in op.walk() if op.regions else (op,):
                by_thread = self.manual and simt.TOGETHER not in inner.attributes
                found += (replace(a, by_thread=True) if by_thread else a for a in accesses(inner))
            self.made[op] = [self.the(access) for access in found]
        return self.made[op]

    # --- tidying ---------------------------------------------------------------------------------------------------

    def drop_doubled(self, block: Block) -> None:
        """Removes barriers that follow another one with nothing between that a barrier orders."""
        fresh = False
        for op in self.steps_of(block):
            if isinstance(op, simt.Barrier):
                if fresh:
                    block.erase_op(op)
                fresh = True
            elif not isinstance(op, gpu.CpAsyncCommit):
                fresh = False


def _of_role(barrier: simt.Barrier) -> None:
    """Of a barrier in a role only the role's threads are told."""
    around = barrier.parent_op()
    while around is not None:
        threads = around.attributes.get(ROLE)
        if isinstance(threads, IntegerAttr):
            barrier.id, barrier.threads = IntegerAttr(ROLE_BARRIER, i64), threads
            return
        around = around.parent_op()


def _insert_barrier(before: Operation) -> None:
    block = before.parent
    assert block is not None
    barrier = simt.Barrier.create()
    barrier.location = before.location
    block.insert_op_before(barrier, before)
