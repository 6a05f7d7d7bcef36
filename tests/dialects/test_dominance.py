"""Dominance where text cannot show it, and against brute force on random graphs of blocks."""

from __future__ import annotations

import random

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.dialects.test import TestOp as Op
from xdsl.dialects.test import TestTermOp as Term
from xdsl.ir import Block, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, region_def, traits_def
from xdsl.traits import IsolatedFromAbove, NoTerminator

from tileopt.dialects.dominance import Dominators, check_dominance
from tileopt.dialects.verifier import walk


@irdl_op_definition
class IsolatedOp(IRDLOperation):
    """An isolated op whose trait does not verify itself, as many of ours do not."""

    name = "check.isolated"
    body = region_def()
    traits = traits_def(NoTerminator(), IsolatedFromAbove())


def test_isolated_ops_hide_what_is_around_them() -> None:
    value = Op(result_types=[i32])
    use = Op([value.results[0]])
    outer = IsolatedOp.create(regions=[Region(Block([value, IsolatedOp.create(regions=[Region(Block([use]))])]))])
    errors = check_dominance(ModuleOp([outer]))
    assert [error.message for error in errors] == [
        "operand #0 of 'test.op' is defined outside of 'check.isolated', which is isolated from above"
    ]


def test_erased_values_are_found() -> None:
    value = Op(result_types=[i32])
    use = Op([value.results[0]])
    module = ModuleOp([value, use])
    value.detach()
    assert [error.message for error in check_dominance(module)] == ["operand #0 of 'test.op' was erased"]


def test_deep_nesting_needs_no_recursion() -> None:
    op = Op()
    for _ in range(5000):
        op = Op(regions=[Region(Block([op]))])
    assert sum(1 for _ in walk(op)) == 5001
    assert check_dominance(op) == []


def test_dominators_against_brute_force() -> None:
    rng = random.Random(7)
    for _ in range(200):
        blocks = [Block() for _ in range(rng.randrange(1, 9))]
        for block in blocks:
            block.add_op(Term.create(successors=rng.sample(blocks, rng.randrange(0, min(3, len(blocks)) + 1))))
        region = Region(blocks)
        found = Dominators(region)

        def reach(without: Block | None, start: Block = blocks[0]) -> set[Block]:
            seen: set[Block] = set()
            pending = [] if start is without else [start]
            while pending:
                block = pending.pop()
                if block not in seen and block is not without:
                    seen.add(block)
                    pending += block.last_op.successors if block.last_op else ()
            return seen

        reachable = reach(None)
        for a in blocks:
            assert found.reachable(a) == (a in reachable)
            for b in reachable:
                # `a` dominates `b` if and only if `b` cannot be reached without it.
                assert found.dominate(a, b) == (a is b or (a in reachable and b not in reach(a)))
