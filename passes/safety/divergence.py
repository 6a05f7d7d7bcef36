"""Which values of a SIMT kernel may differ between the threads of a block, and barriers that only some of them reach.

A value is *divergent* if it rests on the thread's place, on what a warp's lanes exchange, on an atomic, on an element
that threads read at different places, or on which way threads went before. All others have one value in a block
whenever all its threads come there. A barrier under a divergent condition, or in a loop that threads leave at
different times, is refused: the threads that come would wait for ever.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from tileopt.dialects import gpu_cluster, simt, simt_atomic, simt_host, simt_thread, simt_warp
from tileopt.dialects.diagnostics import CompileError, location_of
from tileopt.dialects.kernel import KernelOp
from tileopt.passes.analysis.affine import Expr, leaves
from tileopt.passes.analysis.facts import KernelFacts, width_of

SOURCES = (
    simt_thread.ThreadIdx, simt.ThreadId, simt_warp.Shuffle, simt_warp.Vote, simt_warp.Match, simt_warp.WarpReduce,
    simt_host.Clock, simt_warp.Elect, simt_warp.ActiveMask, simt_warp.LaneMask, simt_atomic.AtomicRmw,
    simt_atomic.AtomicCas,
)  # fmt: skip
# All threads of the block must come to these.
BLOCK_MEETINGS = (simt.Barrier, gpu_cluster.ClusterArrive, gpu_cluster.ClusterWait)
COMMON = frozenset(("argument", "dim", "num_blocks", "block_dim", "bid"))  # leaves with one value in a block


class Divergence:
    """The divergent values of one kernel. `facts` settle what only looks so, as `thread_idx(0) < 256` may."""

    sources: tuple[type[Operation], ...] = SOURCES

    def __init__(self, kernel: KernelOp, facts: KernelFacts) -> None:
        self.kernel = kernel
        self.facts = facts
        self._values: set[SSAValue] = set()
        self._walk(kernel.body.block)

    def divergent(self, value: SSAValue) -> bool:
        return value in self._values

    def apart(self, op: Operation) -> bool:
        """Whether threads may go different ways at an `if` or a loop."""
        match op:
            case scf.IfOp():
                return self.divergent(op.cond) and not self._common(self.facts.of(op.cond).expr)
            case scf.ForOp():
                return any(map(self.divergent, (op.lb, op.ub, op.step))) and not self._common_trips(op)
            case scf.WhileOp():
                test = op.before_region.block.last_op
                return isinstance(test, scf.ConditionOp) and self.divergent(test.condition)
            case _:
                return False

    def check_barriers(self) -> None:
        """Raises CompileError for a barrier that only some threads of a block may reach."""
        for op in self.kernel.walk():
            if isinstance(op, BLOCK_MEETINGS) and not (isinstance(op, simt.Barrier) and op.id is not None):
                parent = self.split(op, self.kernel)
                if parent is not None:
                    self._refuse(op, parent)

    def split(self, op: Operation, root: Operation) -> Operation | None:
        """The `if` or loop around an op, within `root`, at which threads go different ways."""
        parent = op.parent_op()
        while parent is not None and parent is not root:
            if self.apart(parent):
                return parent
            parent = parent.parent_op()
        return None

    def _refuse(self, barrier: Operation, parent: Operation) -> None:
        loop = not isinstance(parent, scf.IfOp)
        way = "a loop whose iterations" if loop else "a condition that"
        words = "run this loop equally often in all threads" if loop else "move the barrier out of the condition"
        raise CompileError(
            "race/divergent-barrier",
            f"this barrier stands in {way} may differ between the threads of a block: those that come would wait for "
            "ever",
            location=location_of(barrier),
            help=f"{words}, or let it depend on block ids, arguments and extents alone",
            notes=[("the loop is here" if loop else "the condition is here", location_of(parent))],
        )

    def _common(self, expr: Expr) -> bool:
        return all(s.kind in COMMON for s in leaves([expr]))

    def _common_trips(self, op: scf.ForOp) -> bool:
        """Whether the number of iterations is the same where the bounds are not."""
        step = self.facts.of(op.step).expr
        if not step.bounds().lo >= 1:
            return False
        span = self.facts.of(op.ub).expr - self.facts.of(op.lb).expr
        return self._common(self.facts.symbols.divide(span + step - 1, step)[0])

    def _mark(self, values: Iterable[SSAValue], divergent: bool = True) -> None:
        if divergent:
            self._values.update(values)

    def _walk(self, block: Block) -> None:
        for op in block.ops:
            match op:
                case scf.IfOp():
                    self._if(op)
                case scf.ForOp():
                    self._loop(op, op.iter_args, op.body.block.args[1:], op.body.block)
                case scf.WhileOp():
                    self._while(op)
                case _:
                    self._mark(op.results, self._mark_results(op))
                    for region in op.regions:
                        for inner in region.blocks:
                            self._enter(op, inner)
                            self._walk(inner)
            for result in op.results:
                if result in self._values and width_of(result.type) is not None:
                    if self._common(self.facts.of(result).expr):
                        self._values.discard(result)

    def _mark_results(self, op: Operation) -> bool:
        """Whether what an op gives that is no control flow may differ."""
        own = isinstance(op, self.sources) or op.name.startswith("gpu.")
        return own or any(map(self.divergent, op.operands))

    def _enter(self, op: Operation, block: Block) -> None:
        """Marks the arguments of the block of an op that is no control flow."""

    def _if(self, op: scf.IfOp) -> None:
        yields: list[tuple[SSAValue, ...]] = []
        for region in op.regions:
            if region.blocks.first is not None:
                self._walk(region.block)
                last = region.block.last_op
                yields.append(tuple(last.operands) if isinstance(last, scf.YieldOp) else ())
        apart = self.apart(op)
        for i, result in enumerate(op.results):
            self._mark([result], apart or any(self.divergent(values[i]) for values in yields))

    def _loop(self, op: scf.ForOp, inits: Iterable[SSAValue], carried: Iterable[SSAValue], body: Block) -> None:
        arguments = list(carried)
        self._mark([body.args[0]], self.divergent(op.lb) or self.divergent(op.step))
        self._carry(arguments, inits)
        before = -1
        while before != len(self._values):  # grows by at least one carried value a round
            before = len(self._values)
            self._walk(body)
            last = body.last_op
            self._carry(arguments, last.operands if last is not None else ())
        apart = self.apart(op)
        for argument, result in zip(arguments, op.results, strict=True):
            self._mark([result], apart or self.divergent(argument))

    def _while(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        self._carry(before.args, op.arguments)
        count = -1
        while count != len(self._values):
            count = len(self._values)
            self._walk(before)
            test = before.last_op
            if isinstance(test, scf.ConditionOp):
                self._carry(after.args, test.args)
                self._carry(op.results, test.args)
            self._walk(after)
            last = after.last_op
            self._carry(before.args, last.operands if last is not None else ())
        self._mark(op.results, self.apart(op))

    def _carry(self, to: Iterable[SSAValue], values: Iterable[SSAValue]) -> None:
        for target, value in zip(to, values, strict=False):
            self._mark([target], self.divergent(value))
