"""Canonical forms of the simt ops: a selection of registers merges with the one before it, and vanishes on a splat."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tileopt.dialects import simt


class SelectSplat(RewritePattern):
    """Any registers of a splat are a splat."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        source = op.operands[0].owner
        if isinstance(source, simt.Splat):
            new = simt.Splat.create(operands=[source.value], result_types=[op.results[0].type])
            new.location = op.location
            rewriter.replace(op, [new])


class MergeSelects(RewritePattern):
    """A selection from a selection is one."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        source = op.operands[0].owner
        if isinstance(op, simt.FragmentSelect) and isinstance(source, simt.FragmentSelect):
            inner = source.registers.get_values()
            chosen = DenseArrayBase.from_list(source.registers.elt_type, [inner[r] for r in op.registers.get_values()])
            new = simt.FragmentSelect.create(
                operands=[source.source], result_types=[op.result.type], properties={"registers": chosen}
            )
            new.location = op.location
            rewriter.replace(op, [new])
