"""Loops of both kinds, as passes that go through bodies see them: `scf.for`, and `scf.while`, whose test is its own."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

Loop: TypeAlias = scf.ForOp | scf.WhileOp


def body_of(loop: Loop) -> Block:
    """The block that each iteration runs; of a `while` the one behind the test."""
    return loop.body.block if isinstance(loop, scf.ForOp) else loop.after_region.block


def carried_by(loop: Loop) -> list[SSAValue]:
    """What a loop carries from iteration to iteration, as its first iteration takes it; not what stays as it is."""
    inits, arguments = (
        (loop.iter_args, loop.body.block.args[1:])
        if isinstance(loop, scf.ForOp)
        else (loop.arguments, loop.before_region.block.args)
    )
    end = body_of(loop).last_op
    given = () if end is None else end.operands
    return [init for init, mine, later in zip(inits, arguments, given, strict=True) if later is not mine]


def yielded_by(loop: Loop, argument: BlockArgument) -> int | None:
    """Which operand of its last op the body gives the next iteration for one of its arguments; None where that is no
    carried value, or one that the test of a `while` does more with than hand it on."""
    if isinstance(loop, scf.ForOp):
        return argument.index - 1 if argument.index else None
    test = loop.before_region.block
    condition = test.last_op
    assert isinstance(condition, scf.ConditionOp)
    given = condition.args[argument.index]
    if not isinstance(given, BlockArgument) or given.block is not test or not given.has_one_use():
        return None
    return given.index


def begun(loop: Loop, argument: SSAValue) -> SSAValue | None:
    """What an argument of the body is in the first iteration; None where `argument` is no such value."""
    if not isinstance(argument, BlockArgument) or argument.block is not body_of(loop):
        return None
    place = yielded_by(loop, argument)
    if place is None:
        return None
    return loop.iter_args[place] if isinstance(loop, scf.ForOp) else loop.arguments[place]


def result_of(loop: Loop, argument: BlockArgument) -> SSAValue:
    """What a carried value, by the argument of the body that holds it, is when the loop is done."""
    return loop.results[argument.index - 1 if isinstance(loop, scf.ForOp) else argument.index]


def carry(loop: Loop, start: SSAValue) -> BlockArgument:
    """Gives `loop` one more value that it carries, and has begun with; its body must still yield the next one.

    The loop is made anew: its body keeps its block, and is given back the argument that holds the value."""
    body = body_of(loop)
    if isinstance(loop, scf.WhileOp):
        test = loop.before_region.block
        condition = test.last_op
        assert condition is not None
        entered = test.insert_arg(start.type, len(test.args))
        entered.location = loop.location
        condition.operands = [*condition.operands, entered]
    results: list[Attribute] = [*(r.type for r in loop.results), start.type]
    wider = type(loop).create(
        operands=[*loop.operands, start],
        result_types=results,
        properties=loop.properties,
        attributes=loop.attributes,
        regions=[loop.detach_region(region) for region in list(loop.regions)],
    )
    wider.location = loop.location
    assert loop.parent is not None
    loop.parent.insert_op_before(wider, loop)
    for old, new in zip(loop.results, wider.results, strict=False):
        old.replace_all_uses_with(new)
    loop.parent.erase_op(loop)
    argument = body.insert_arg(start.type, len(body.args))
    argument.location = loop.location
    return argument


def drop(loop: scf.ForOp, number: int) -> scf.ForOp:
    """Takes a value that nothing uses, in the loop or behind it, out of what `loop` carries."""
    body, end = loop.body.block, loop.body.block.last_op
    assert end is not None and loop.parent is not None
    body.erase_arg(body.args[number + 1])
    end.operands = [v for n, v in enumerate(end.operands) if n != number]
    kept = [n for n in range(len(loop.results)) if n != number]
    made = scf.ForOp.create(
        operands=[loop.lb, loop.ub, loop.step, *(loop.iter_args[n] for n in kept)],
        result_types=[loop.results[n].type for n in kept],
        properties=loop.properties,
        attributes=loop.attributes,
        regions=[loop.detach_region(loop.body)],
    )
    made.location = loop.location
    loop.parent.insert_op_before(made, loop)
    for n, new in zip(kept, made.results, strict=True):
        new.name_hint = loop.results[n].name_hint
        loop.results[n].replace_all_uses_with(new)
    loop.parent.erase_op(loop)
    return made
