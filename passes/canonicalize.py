"""`canonicalize`: folding, and each op's own canonical form."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizationRewritePattern
from xdsl.transforms.dead_code_elimination import region_dce

from tileopt.passes.rewrite import rewrite_greedily


class CanonicalizePass(ModulePass):
    """Folds constants, brings each op to its canonical form and removes dead code."""

    name = "canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_greedily(ctx, op, [CanonicalizationRewritePattern()], after_each_walk=region_dce)
