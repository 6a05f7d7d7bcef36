"""xDSL's greedy pattern driver with the two things that it lacks: new ops keep their places, and it always ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp, UnknownLoc
from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)

from tileopt.dialects.diagnostics import CompileError, location_of
from tileopt.dialects.verifier import walk


def rewrite_greedily(
    ctx: Context,
    module: ModuleOp,
    patterns: Sequence[RewritePattern],
    *,
    fold: bool = True,
    after_each_walk: Callable[[Region, PatternRewriterListener], bool] | None = None,
) -> bool:
    """Apply `patterns`, and folding, to the ops of `module` until none applies. Returns whether anything changed.

    An op that a pattern makes takes the place of the op that the pattern matched. Patterns that undo one another would
    never end: after far more rewrites than the module has ops, that is an error.
    """
    limit = 10_000 + 100 * sum(1 for _ in walk(module))
    applier = GreedyRewritePatternApplier(list(patterns), ctx=ctx, folding_enabled=fold)
    driver = _Driver(applier, limit)
    listener = PatternRewriterListener(operation_insertion_handler=[driver.place])
    walker = PatternRewriteWalker(driver, post_walk_func=after_each_walk, listener=listener)
    return walker.rewrite_module(module)


class _Driver(RewritePattern):
    def __init__(self, inner: RewritePattern, limit: int) -> None:
        self.inner = inner
        self.remaining = limit
        self.location: LocationAttr = UNKNOWN_LOC

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        self.location = op.location
        place = None if self.remaining > 1 else location_of(op)
        name = op.name
        self.inner.match_and_rewrite(op, rewriter)
        self.remaining -= rewriter.has_done_action
        if self.remaining <= 0:
            raise CompileError("pass/no-fixpoint", f"rewriting '{name}' does not come to an end", location=place)

    def place(self, op: Operation) -> None:
        for made in walk(op):
            if isinstance(made.location, UnknownLoc):
                made.location = self.location
