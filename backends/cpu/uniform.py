"""Which ops of a kernel all threads of a block do alike, and where threads meet: what `phases` needs to know.

A *meeting* is a barrier or a shuffle. A kernel is *regular* if each meeting stands under control flow that is the same
for all threads; every kernel of the tile track is. Its body then falls into *phases* between meetings: all threads
finish a phase before any begins the next. Values that one phase makes and another uses are *crossing*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import IntegerAttr, VectorType
from xdsl.ir import Block, Operation, SSAValue

from tileopt.backends.cpu import lanes
from tileopt.dialects import simt
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.simt import Kernel
from tileopt.dialects.simt_constant import Constant
from tileopt.dialects.simt_thread import BlockDim, DynamicShared, ThreadIdx
from tileopt.dialects.simt_warp import LaneMask, Match, Shuffle, SyncWarp, Vote, WarpReduce

# Lanes of a warp that read each other's first operand.
EXCHANGES = (simt.ShuffleXor, Shuffle, Vote, Match, WarpReduce)
MEETINGS = (simt.Barrier, SyncWarp, *EXCHANGES)
_ALIKE: tuple[type[Operation], ...] = (
    simt.BlockId,
    simt.GridDim,
    simt.Dim,
    simt.Phase,
    simt.AllocShared,
    simt.Slot,
    simt.ViewBuffer,
    BlockDim,
    Constant,
    DynamicShared,
    scf.ForOp,
    scf.IfOp,
    scf.WhileOp,
    scf.YieldOp,
    scf.ConditionOp,
)
_PURE = frozenset((*arith.Arith.operations, *math.Math.operations, *_ALIKE))
_CHEAP: tuple[type[Operation], ...] = (
    arith.ConstantOp,
    simt.Splat,
    simt.FragmentCoord,
    simt.ThreadId,
    ThreadIdx,
    LaneMask,
)
_CHEAP_STEPS = frozenset(
    (arith.AddiOp, arith.SubiOp, arith.CmpiOp, arith.IndexCastOp, arith.ExtSIOp, arith.TruncIOp, simt.FragmentSelect)
)
_CHEAP_DEPTH = 3  # steps that are computed again rather than stored


@dataclass
class Plan:
    """How a regular kernel is cut into phases, numbered in the order of the text."""

    varying: set[SSAValue] = field(default_factory=set)  # values that may differ between the threads of a block
    once: set[Operation] = field(default_factory=set)  # ops computed once a block
    outer: set[Operation] = field(default_factory=set)  # control flow around a meeting
    crossing: set[SSAValue] = field(default_factory=set)
    shuffled: set[SSAValue] = field(default_factory=set)  # crossing values that a shuffle reads in their own places
    needs: dict[int, list[SSAValue]] = field(default_factory=dict)  # phase -> crossing values that it uses
    cheap: dict[SSAValue, int] = field(default_factory=dict)  # values that are computed again, and their depth
    runs: dict[Operation, list[Operation]] = field(default_factory=dict)  # runs of lanes (see there) by their first op


def has_meeting(op: Operation) -> bool:
    """Whether threads meet in an op's regions."""
    return any(isinstance(inner, MEETINGS) for region in op.regions for inner in region.walk())


def plan_phases(kernel: Kernel) -> Plan | None:
    """The phases of a regular kernel; None for one that is not."""
    plan, block = Plan(), kernel.body.block
    for op in kernel.body.walk():
        if op.regions and has_meeting(op):
            if not isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp):
                return None
            plan.outer.add(op)
    while True:  # what is alike is assumed to stay so around loops, until a value that is not comes round
        before = len(plan.varying)
        plan.once.clear()
        _spread(plan, block)
        if len(plan.varying) == before:
            break
    for op in plan.outer:
        if any(v in plan.varying for v in _controls(op)):
            return None
    threads = kernel.attributes.get(simt.THREADS)
    _Phases(plan, isinstance(threads, IntegerAttr) and threads.value.data % WARP_SIZE == 0).visit(block)
    return plan


def _controls(op: Operation) -> Iterable[SSAValue]:
    match op:
        case scf.ForOp():
            return (op.lb, op.ub, op.step)
        case scf.IfOp():
            return (op.cond,)
        case _:
            condition = op.regions[0].block.last_op
            return () if condition is None else (condition.operands[0],)


def _is_alike(plan: Plan, op: Operation) -> bool:
    """Whether an op without a meeting gives all threads the same, and does nothing else."""
    for inner in op.walk():
        if type(inner) not in _PURE or any(isinstance(v.type, VectorType) for v in (*inner.operands, *inner.results)):
            return False
        if any(v in plan.varying for v in inner.operands):
            return False
    return True


def _mark(plan: Plan, targets: Iterable[SSAValue], *sources: Iterable[SSAValue]) -> None:
    """Each target varies if one of its sources does, or if it is a fragment."""
    for target, *from_ in zip(targets, *sources, strict=True):
        if isinstance(target.type, VectorType) or any(v in plan.varying for v in from_):
            plan.varying.add(target)


def _spread(plan: Plan, block: Block) -> None:
    """One walk over ops outside of phases: which values vary, which ops are done once."""
    for op in block.ops:
        if op in plan.outer:
            for region in op.regions:
                for inner in region.blocks:
                    _spread(plan, inner)
            match op:
                case scf.ForOp():
                    carried, last = op.body.block.args[1:], op.body.block.last_op
                    assert last is not None
                    _mark(plan, carried, op.iter_args, last.operands)
                    _mark(plan, op.res, carried)
                case scf.IfOp():
                    ends = [b.last_op for r in op.regions for b in r.blocks]
                    _mark(plan, op.results, *(e.operands for e in ends if e is not None))
                case scf.WhileOp():
                    test, body = op.before_region.block, op.after_region.block
                    assert test.last_op is not None and body.last_op is not None
                    _mark(plan, test.args, op.arguments, body.last_op.operands)
                    _mark(plan, body.args, test.last_op.operands[1:])
                    _mark(plan, op.res, test.last_op.operands[1:])
        elif op is not block.last_op and _is_alike(plan, op):
            plan.once.add(op)
        else:
            plan.varying.update(op.results)


@dataclass
class _Phases:
    """Numbers the phases, and finds what crosses from one to another."""

    plan: Plan
    whole_warps: bool
    phase: int = 0
    made: dict[SSAValue, int] = field(default_factory=dict)
    once_made: set[SSAValue] = field(default_factory=set)  # by an op of a phase: nothing writes their places again

    def visit(self, block: Block) -> None:
        run: list[Operation] = []
        for op in block.ops:
            if op in self.plan.once:
                continue
            if self.continues(run, op):
                run.append(op)
                continue
            if run:
                self.end_run(run)
                run = []
            if op in self.plan.outer:
                self.structure(op)
            elif isinstance(op, MEETINGS):
                for value in op.operands[:1]:
                    self.use(value)
                    if value in self.once_made:
                        self.plan.crossing.add(value)
                        self.plan.shuffled.add(value)
                self.phase += 1
                for value in op.operands[1:]:
                    self.use(value)
                self.make(op.results)
            else:
                for value in captured(op):
                    self.use(value)
                self.note_cheap(op)
                self.make(op.results)
                self.once_made.update(op.results)

    def continues(self, run: list[Operation], op: Operation) -> bool:
        """Whether an op goes on a run of lanes, or begins one."""
        if not self.whole_warps or not lanes.fits(op) or any(v in self.plan.cheap for v in op.operands):
            return False
        return bool(run) or isinstance(op, simt.ShuffleXor)

    def end_run(self, run: list[Operation]) -> None:
        self.plan.runs[run[0]] = run
        self.phase += 1
        for op in run:
            for value in op.operands:
                self.use(value)
            self.make(op.results)
        self.phase += 1

    def structure(self, op: Operation) -> None:
        for value in op.operands:
            self.use(value)
        self.phase += 1
        for region in op.regions:
            for block in region.blocks:
                self.carried(block.args)
                self.visit(block)
                self.phase += 1
        self.carried(op.results)

    def make(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            self.made[value] = self.phase

    def carried(self, values: Iterable[SSAValue]) -> None:
        """Values that always lie in memory: different phases write them."""
        self.plan.crossing.update(v for v in values if v in self.plan.varying)

    def use(self, value: SSAValue) -> None:
        if value not in self.plan.varying or self.made.get(value) == self.phase:
            return
        cheap = self.plan.cheap.get(value)
        if cheap is not None:
            assert isinstance(value.owner, Operation)
            for operand in value.owner.operands:
                self.use(operand)
        else:
            self.plan.crossing.add(value)
        needed = self.plan.needs.setdefault(self.phase, [])
        if value not in needed:
            needed.append(value)

    def note_cheap(self, op: Operation) -> None:
        if len(op.results) != 1 or op.regions:
            return
        varying = [v for v in op.operands if v in self.plan.varying]
        if isinstance(op, _CHEAP) and not varying:
            self.plan.cheap[op.results[0]] = 0
        elif type(op) in _CHEAP_STEPS and all(v in self.plan.cheap for v in varying):
            depth = 1 + max((self.plan.cheap[v] for v in varying), default=0)
            if depth <= _CHEAP_DEPTH:
                self.plan.cheap[op.results[0]] = depth


def captured(op: Operation) -> Iterator[SSAValue]:
    """The values that an op uses from outside, in its regions too."""
    inside: set[SSAValue] = set()
    for inner in op.walk():
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.args)
        for value in inner.operands:
            if value not in inside:
                yield value
        inside.update(inner.results)
