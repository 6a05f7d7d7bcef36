"""The slice of a kernel that some of its ops need: control flow, addresses, nothing else.

A role that only moves data repeats the kernel's control flow around its own ops. `slice_of` says what that takes, or
that it cannot be had: where a copy's address, or whether it is made, depends on what is computed from tiles, no other
warp can know it. Single numbers of arrays that nobody writes can be read by each role for itself. `copy_of` makes the
copy; loops carry in it what the slice needs of what they carry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from tileopt.dialects import pipe, tile
from tileopt.dialects.bounds import Outcome
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.tile_types import Access, ViewType


@dataclass(slots=True)
class Slice:
    """`ops`: all that are needed, with those around them. `carried`: of loops and ifs, the numbers of results, which a
    `while` hands from its test to its body. `entered`: of a `while`, the numbers of what it carries to its test."""

    ops: set[Operation] = field(default_factory=set)
    carried: dict[Operation, set[int]] = field(default_factory=dict)
    entered: dict[Operation, set[int]] = field(default_factory=dict)


def slice_of(roots: Iterable[Operation]) -> Slice | None:
    """What `roots` need, they themselves among it; None where that is more than control flow and scalar arithmetic."""
    marking = _Marking()
    return marking.found if all(marking.op(op) for op in roots) and marking.run() else None


class _Marking:
    def __init__(self) -> None:
        self.found = Slice()
        self.values: list[SSAValue] = []
        self.seen: set[SSAValue] = set()

    def run(self) -> bool:
        while self.values:
            value = self.values.pop()
            if value not in self.seen:
                self.seen.add(value)
                if not self.value(value):
                    return False
        return True

    def op(self, op: Operation) -> bool:
        """An op and those around it. Whether that can be."""
        if op in self.found.ops:
            return True
        self.found.ops.add(op)
        match op:
            case scf.ForOp():
                self.values += [op.lb, op.ub, op.step]
            case scf.IfOp():
                self.values.append(op.cond)
            case scf.WhileOp():
                self.values.append(_condition(op).condition)
            case _:
                self.values += op.operands
        around = op.parent_op()
        return around is None or isinstance(around, KernelOp) or self.op(around)

    def value(self, value: SSAValue) -> bool:
        owner = value.owner
        if isinstance(owner, Block):
            around = owner.parent_op()
            if isinstance(around, KernelOp):
                return True
            if not isinstance(value, BlockArgument):
                return False
            if isinstance(around, scf.WhileOp):
                if owner is around.before_region.block:
                    return self.op(around) and self.entered(around, value.index)
                return self.op(around) and self.result(around, value.index)
            if not isinstance(around, scf.ForOp):
                return False
            return self.op(around) and (value.index == 0 or self.result(around, value.index - 1))
        if isinstance(owner, scf.ForOp | scf.IfOp | scf.WhileOp):
            return self.op(owner) and self.result(owner, owner.results.index(value))
        if isinstance(owner, pipe.Channel):
            return True
        return knows(owner) and self.op(owner)

    def entered(self, op: scf.WhileOp, number: int) -> bool:
        self.found.entered.setdefault(op, set()).add(number)
        end = op.after_region.block.last_op
        assert end is not None
        self.values += [op.arguments[number], end.operands[number]]
        return True

    def result(self, op: scf.ForOp | scf.IfOp | scf.WhileOp, number: int) -> bool:
        self.found.carried.setdefault(op, set()).add(number)
        if isinstance(op, scf.WhileOp):
            self.values.append(_condition(op).args[number])
            return True
        if isinstance(op, scf.ForOp):
            self.values.append(op.iter_args[number])
        for region in op.regions:
            for block in region.blocks:
                assert block.last_op is not None
                self.values.append(block.last_op.operands[number])
        return True


def _condition(op: scf.WhileOp) -> scf.ConditionOp:
    test = op.before_region.block.last_op
    assert isinstance(test, scf.ConditionOp)
    return test


def knows(op: Operation) -> bool:
    """Whether any role, and in it one thread, can do the op for itself: arithmetic on single numbers, or a load of one
    from an array that nobody writes while the kernel runs."""
    tiles = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, TensorType)]
    if op.regions or any(prod(t.get_shape()) != 1 for t in tiles):
        return False
    views = [v.type for v in op.operands if isinstance(v.type, ViewType)]
    if isinstance(op, tile.Load):
        if op.bounds is not None and op.bounds.outcome is Outcome.CHECKED:
            return False  # who finds a fault ends the kernel for all
        return all(v.access.data == Access.SHARED for v in views)
    if views:
        return isinstance(op, tile.Dim)
    # xDSL leaves some integer ops of `arith` without a word on their effects.
    return op.name.startswith("arith.") or is_side_effect_free(op)


def copy_of(block: Block, part: Slice) -> Block:
    """The ops of `block` that the slice has, in a block without a terminator."""
    return _Copying(part).block(block, Block(), {})


class _Copying:
    def __init__(self, part: Slice) -> None:
        self.part = part

    def block(self, block: Block, made: Block, values: dict[SSAValue, SSAValue]) -> Block:
        for op in block.ops:
            if op in self.part.ops:
                made.add_op(self.op(op, values))
        return made

    def op(self, op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
        if not isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp):
            return op.clone(values)
        kept = sorted(self.part.carried.get(op, ()))
        match op:
            case scf.ForOp():
                operands = [op.lb, op.ub, op.step, *(op.iter_args[n] for n in kept)]
                body = op.body.block
                regions = [self.region(op.body, [body.args[0], *(body.args[n + 1] for n in kept)], kept, values)]
            case scf.WhileOp():
                entered = sorted(self.part.entered.get(op, ()))
                operands = [op.arguments[n] for n in entered]
                test, body = op.before_region.block, op.after_region.block
                passed = [0, *(n + 1 for n in kept)]  # the condition itself
                regions = [
                    self.region(op.before_region, [test.args[n] for n in entered], passed, values),
                    self.region(op.after_region, [body.args[n] for n in kept], entered, values),
                ]
            case _:
                operands = [op.cond]
                regions = [self.region(region, [], kept, values) for region in op.regions]
        made = type(op).create(
            operands=[values.get(v, v) for v in operands],
            result_types=[op.results[n].type for n in kept],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=regions,
        )
        made.location = op.location
        for new, n in zip(made.results, kept, strict=True):
            values[op.results[n]] = new
        return made

    def region(
        self, region: Region, arguments: list[BlockArgument], kept: list[int], values: dict[SSAValue, SSAValue]
    ) -> Region:
        """A copy with these arguments, whose last op keeps these of its operands."""
        if not region.blocks:
            return Region()
        old = region.block
        new = Block(arg_types=[a.type for a in arguments])
        for mine, theirs in zip(arguments, new.args, strict=True):
            theirs.name_hint = mine.name_hint
            values[mine] = theirs
        self.block(old, new, values)
        end = old.last_op
        assert end is not None
        ended = type(end).create(operands=[values.get(v, v) for v in (end.operands[n] for n in kept)])
        ended.location = end.location
        new.add_op(ended)
        return Region(new)
