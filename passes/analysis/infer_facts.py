"""infer-facts: tile or simt -> the same. Afterwards each tile load and store carries `vector`, the elements that may
move as one, each loop whose step cannot wrap is marked so, and each copy of elements that is aligned in all launches.

It is best run after `elide-bounds`, whose outcomes it takes; without them it proves for itself what is inside.
The facts themselves live in `tileopt.passes.analysis.facts` and are asked for anew by each pass that needs them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i64
from xdsl.passes import ModulePass

from tileopt.dialects import simt
from tileopt.dialects.gpu_words import CpAsyncElements
from tileopt.dialects.kernel import NO_WRAP, KernelOp
from tileopt.dialects.target import target_of
from tileopt.passes.analysis.accesses import accesses, inside, is_aligned, vector_of
from tileopt.passes.analysis.facts import KernelFacts, analyse, width_of
from tileopt.passes.analysis.ranges import Interval


@dataclass(frozen=True)
class InferFacts(ModulePass):
    """Finds how many elements of each access are aligned, and inside or outside, together."""

    name = "infer-facts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if not isinstance(kernel, KernelOp):
                continue
            facts = analyse(kernel)
            _mark_loops(facts, kernel)
            _mark_copies(facts, kernel)
            for access in accesses(kernel):
                widest = target_of(kernel).vector_bytes
                vector = vector_of(facts, access, inside(facts, access), widest)
                access.vector = IntegerAttr(vector, i64)


def _mark_copies(facts: KernelFacts, kernel: KernelOp) -> None:
    """Marks asynchronous copies of elements that are aligned in all launches. Of the buffer only the last index counts:
    the op's verifier sees to the rows, `allocate-onchip` to where it begins."""
    for copy in kernel.walk():
        if not isinstance(copy, CpAsyncElements) or not isinstance(copy.target.owner, simt.AllocShared):
            continue
        size, last = copy.bytes, facts.of(copy.target_indices[-1]).divisor * (copy.bytes // copy.count.value.data)
        if last % size == 0 and is_aligned(facts, copy.source, copy.source_indices, size):
            copy.aligned = UnitAttr()


def _mark_loops(facts: KernelFacts, kernel: KernelOp) -> None:
    """Marks loops in which even the sum of the last induction value and the step fits the type."""
    for loop in kernel.walk():
        if isinstance(loop, scf.ForOp):
            end, step = facts.of(loop.ub).range, facts.of(loop.step).range
            width = width_of(loop.ub.type) or 64
            if step.lo >= 0 and end.hi - 1 + step.hi <= Interval.signed(width).hi:
                loop.attributes[NO_WRAP] = UnitAttr()
