"""Canonical forms of the tile ops that only rearrange elements.

Splats pass through them. Two of a kind become one, unless layouts were assigned: then each op is movement that
`assign-layouts` chose. Whether an op does nothing at all is its folder's affair.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, NoneAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tileopt.dialects import tile


class MoveSplat(RewritePattern):
    """Rearranging a splat gives a splat."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        source = op.operands[0].owner
        if isinstance(source, tile.Splat):
            replace(rewriter, op, tile.Splat, source.value)


class MergeEqual(RewritePattern):
    """Two broadcasts, reshapes or conversions in a row are one."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        source = op.operands[0].owner
        if (
            isinstance(source, Operation)
            and type(source) is type(op)
            and (isinstance(op, tile.ConvertLayout) or not has_layout(op, source))
        ):
            replace(rewriter, op, type(op), source.operands[0])


class MergeTransposes(RewritePattern):
    """Two transposes in a row are one."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        source = op.operands[0].owner
        if isinstance(op, tile.Transpose) and isinstance(source, tile.Transpose) and not has_layout(op, source):
            inner = source.permutation.get_values()
            order = DenseArrayBase.from_list(
                source.permutation.elt_type, [inner[a] for a in op.permutation.get_values()]
            )
            replace(rewriter, op, tile.Transpose, source.source, {"permutation": order})


def has_layout(*ops: Operation) -> bool:
    """Whether one of the ops' values carries a layout."""
    types = [value.type for op in ops for value in (*op.operands, *op.results)]
    return any(isinstance(t, TensorType) and not isinstance(t.encoding, NoneAttr) for t in types)


def replace(
    rewriter: PatternRewriter,
    op: Operation,
    kind: type[Operation],
    source: SSAValue,
    properties: dict[str, Attribute] | None = None,
) -> None:
    """Puts an op of `kind` on `source` in the place of `op`, whose result keeps its type."""
    new = kind.create(operands=[source], result_types=[op.results[0].type], properties=properties or {})
    new.location = op.location
    rewriter.replace(op, [new])


def patterns_of(op: type[IRDLOperation]) -> tuple[RewritePattern, ...]:
    return (MoveSplat(), MergeTransposes() if op is tile.Transpose else MergeEqual())
