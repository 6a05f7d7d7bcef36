"""The greedy driver: places survive, and patterns that undo one another come to an end."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tileopt.dialects.diagnostics import CompileError, Location, location_of
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.rewrite import rewrite_greedily

TEXT = """%a = "test.op"() : () -> i32
%b = arith.addi %a, %a : i32
"test.op"(%b) : (i32) -> ()
"""


class AddToMul(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, arith.AddiOp):
            rewriter.replace(op, arith.MuliOp(op.lhs, op.rhs))


class MulToAdd(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, arith.MuliOp):
            rewriter.replace(op, arith.AddiOp(op.lhs, op.rhs))


def test_new_ops_take_the_place_of_what_they_replace() -> None:
    ctx = create_context()
    module = parse_module(ctx, TEXT, "f.mlir")
    assert rewrite_greedily(ctx, module, [AddToMul()])
    made = next(op for op in module.walk() if isinstance(op, arith.MuliOp))
    assert location_of(made) == Location("f.mlir", 2, 6)
    assert not rewrite_greedily(ctx, module, [AddToMul()])


def test_folded_constants_take_the_place_of_what_they_replace() -> None:
    ctx = create_context()
    text = '%a = arith.constant 1 : i32\n%b = arith.addi %a, %a : i32\n"test.op"(%b) : (i32) -> ()\n'
    module = parse_module(ctx, text, "f.mlir")
    rewrite_greedily(ctx, module, [])
    (made,) = (op for op in module.walk() if isinstance(op, arith.ConstantOp))
    assert location_of(made) == Location("f.mlir", 2, 6)


def test_patterns_that_undo_one_another_end() -> None:
    ctx = create_context()
    module = parse_module(ctx, TEXT, "f.mlir")
    with pytest.raises(CompileError, match=r"f\.mlir:2:6: error\[pass/no-fixpoint\]: rewriting 'arith\.(addi|muli)'"):
        rewrite_greedily(ctx, module, [AddToMul(), MulToAdd()])
