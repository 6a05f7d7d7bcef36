"""infer-facts: tile -> tile. Afterwards each load and store carries `vector`, the elements that may move as one.

It is best run after `elide-bounds`, whose outcomes it takes; without them it proves for itself what is inside.
The facts themselves live in `tileopt.passes.analysis.facts` and are asked for anew by each pass that needs them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from tileopt.dialects import tile
from tileopt.dialects.target import target_of
from tileopt.passes.analysis.accesses import accesses, inside, vector_of
from tileopt.passes.analysis.facts import analyse


@dataclass(frozen=True)
class InferFacts(ModulePass):
    """Finds how many elements of each access are aligned, and inside or outside, together."""

    name = "infer-facts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if not isinstance(kernel, tile.Kernel):
                continue
            facts = analyse(kernel)
            widest = target_of(kernel).vector_bytes
            for access in accesses(kernel):
                vector = vector_of(facts, access, inside(facts, access), widest)
                access.vector = IntegerAttr(vector, i64)
