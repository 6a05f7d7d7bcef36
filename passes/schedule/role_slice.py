"""The slice of a kernel that some of its ops need: control flow, addresses, nothing else.

A role that only moves data repeats the kernel's control flow around its own ops. `slice_of` says what that takes, or
that it cannot be had: where a copy's address, or whether it is made, depends on data that was read, no other warp can
know it. `copy_of` makes the copy; loops carry in it what the slice needs of what they carry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from tileopt.dialects import pipe
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.tile_types import ViewType


@dataclass(slots=True)
class Slice:
    """`ops`: all that are needed, with those around them. `carried`: of loops and ifs, the numbers of results."""

    ops: set[Operation] = field(default_factory=set)
    carried: dict[Operation, set[int]] = field(default_factory=dict)


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
                return False
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
            if not isinstance(around, scf.ForOp) or not isinstance(value, BlockArgument):
                return False
            return self.op(around) and (value.index == 0 or self.result(around, value.index - 1))
        if isinstance(owner, scf.ForOp | scf.IfOp):
            return self.op(owner) and self.result(owner, owner.results.index(value))
        if isinstance(owner, pipe.Channel):
            return True
        return _is_scalar(owner) and self.op(owner)

    def result(self, op: scf.ForOp | scf.IfOp, number: int) -> bool:
        self.found.carried.setdefault(op, set()).add(number)
        if isinstance(op, scf.ForOp):
            self.values.append(op.iter_args[number])
        for region in op.regions:
            for block in region.blocks:
                assert block.last_op is not None
                self.values.append(block.last_op.operands[number])
        return True


def _is_scalar(op: Operation) -> bool:
    """Pure arithmetic on numbers: no tiles, and nothing read that another role may not."""
    from xdsl.dialects.builtin import TensorType

    if op.regions or any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results)):
        return False
    if any(isinstance(v.type, ViewType) for v in op.operands):
        return op.name == "tile.dim"
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
        if not isinstance(op, scf.ForOp | scf.IfOp):
            return op.clone(values)
        kept = sorted(self.part.carried.get(op, ()))
        regions = [self.region(op, region, kept, values) for region in op.regions]
        operands = [op.lb, op.ub, op.step, *(op.iter_args[n] for n in kept)] if isinstance(op, scf.ForOp) else [op.cond]
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
        self, op: scf.ForOp | scf.IfOp, region: Region, kept: list[int], values: dict[SSAValue, SSAValue]
    ) -> Region:
        if not region.blocks:
            return Region()
        old = region.block
        arguments = [old.args[0], *(old.args[n + 1] for n in kept)] if isinstance(op, scf.ForOp) else []
        new = Block(arg_types=[a.type for a in arguments])
        for mine, theirs in zip(arguments, new.args, strict=True):
            theirs.name_hint = mine.name_hint
            values[mine] = theirs
        self.block(old, new, values)
        end = old.last_op
        assert end is not None
        ended = scf.YieldOp.create(operands=[values.get(v, v) for v in (end.operands[n] for n in kept)])
        ended.location = end.location
        new.add_op(ended)
        return Region(new)
