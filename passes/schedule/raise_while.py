"""raise-while: a `while` that only counts becomes a `for`.

From: tile. To: the same. Invariant: no `scf.while` of a tile kernel is one that `counted_while` proves to count; what a
loop computes, in which order, and what it leaves, the counter's last value included.

Later passes know of a `for` how often it runs before it does: they prove its accesses, pipeline its loads and split
it among roles. A counter that goes up is the induction variable itself, one that goes down is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp, i1
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import tile
from tileopt.passes.analysis.counted_sums import Counted, End, Sum
from tileopt.passes.analysis.counted_while import constant, counted, is_pure
from tileopt.passes.analysis.facts import KernelFacts, analyse
from tileopt.passes.building import NO_FLAGS, Writer, add, emit, insert, multiply, number


@dataclass(frozen=True)
class RaiseWhile(ModulePass):
    name = "raise-while"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                raise_loops(kernel)


def raise_loops(kernel: tile.Kernel) -> None:
    """Raises the loops of `kernel`, in the order of the text: more is known of what a raised one leaves."""
    loops = [x for x in kernel.walk() if isinstance(x, scf.WhileOp)]
    for loop in loops:
        _flatten(loop.before_region.block)
    facts: KernelFacts | None = None
    for loop in loops:
        facts = facts or analyse(kernel)
        found = counted(facts, loop)
        if found is not None:
            _raise(loop, found)
            facts = None


def _flatten(block: Block) -> None:
    """Makes a test `a and b` evaluate both, where that only computes, rather than b where a holds."""
    for op in list(block.ops):
        if isinstance(op, scf.IfOp) and len(op.results) == 1 and op.results[0].type == i1 and op.false_region.blocks:
            inner = op.true_region.block
            _flatten(inner)
            end, other = inner.last_op, op.false_region.block.last_op
            assert end is not None and other is not None
            *ops, _ = inner.ops
            if constant(other.operands[0]) == 0 and all(is_pure(x) for x in ops):
                for x in ops:
                    inner.detach_op(x)
                    block.insert_op_before(x, op)
                op.results[0].replace_all_uses_with(emit(op, arith.AndIOp, [op.cond, end.operands[0]], [i1]))
                block.erase_op(op)


def _raise(loop: scf.WhileOp, found: Counted) -> None:
    """Puts a `for` in the loop's place."""
    test, body = loop.before_region.block, loop.after_region.block
    condition, end, outer = test.last_op, body.last_op, loop.parent
    assert isinstance(condition, scf.ConditionOp) and end is not None and outer is not None
    counter = test.args[found.counter]
    lower, upper, step = _range(loop, found)
    left = [n for n, result in enumerate(loop.results) if any(True for _ in result.uses)]
    behind = _needed([condition.args[n] for n in left], test)
    known: SSAValue | None = None
    if found.up and found.step.constant == 1:
        known = emit(loop, arith.MaxSIOp, [lower, upper], [counter.type])
    kept = [
        n for n, a in enumerate(test.args) if a is not counter or (known is None and _takes(behind, left, condition, a))
    ]

    inner = Block(arg_types=[counter.type, *(test.args[n].type for n in kept)])
    at = Writer(loop, inner, None)
    index = inner.args[0]
    values: dict[SSAValue, SSAValue] = {test.args[n]: a for n, a in zip(kept, inner.args[1:], strict=True)}
    values[counter] = index if found.up else _falling(at, index, found)
    for old, new in values.items():
        new.name_hint = old.name_hint
    taken = [n for n, a in enumerate(body.args) if any(True for _ in a.uses)]
    needed = _needed([condition.args[n] for n in taken], test)
    at.copy([op for op in test.ops if op in needed], values)
    for n in taken:
        given = condition.args[n]
        value = values.get(given, given)
        value.name_hint = value.name_hint or body.args[n].name_hint
        body.args[n].replace_all_uses_with(value)
    end.operands = [end.operands[n] for n in kept]
    for op in list(body.ops):
        body.detach_op(op)
        inner.add_op(op)
    inits = [loop.arguments[n] for n in kept]
    made = insert(loop, scf.ForOp, [lower, upper, step, *inits], [v.type for v in inits], {}, [Region(inner)])
    made.attributes.update(loop.attributes)

    after: dict[SSAValue, SSAValue] = {test.args[n]: r for n, r in zip(kept, made.results, strict=True)}
    if known is not None:
        after[counter] = known
    Writer(loop, outer, loop).copy([op for op in test.ops if op in behind], after)
    for n in left:
        given = condition.args[n]
        value = after.get(given, given)
        value.name_hint = value.name_hint or loop.results[n].name_hint
        loop.results[n].replace_all_uses_with(value)
    if isinstance(known, OpResult) and not any(True for _ in known.uses):
        outer.erase_op(known.op)
    outer.erase_op(loop)


def _range(loop: scf.WhileOp, found: Counted) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The first value, end and step of the induction variable, made before the loop."""
    test = loop.before_region.block
    type_ = found.first.type
    atoms = [value for end in found.ends for value, _ in end.over.terms]
    values: dict[SSAValue, SSAValue] = {}
    outer = loop.parent
    assert outer is not None
    needed = _needed(atoms, test)
    Writer(loop, outer, loop).copy([op for op in test.ops if op in needed], values)
    upper: SSAValue | None = None
    for end in found.ends:
        value = _end(loop, end, values, type_)
        upper = value if upper is None else emit(loop, arith.MinSIOp, [upper, value], [type_])
    assert upper is not None
    if not found.up:
        return number(loop, 0, type_), upper, number(loop, 1, type_)
    return found.first, upper, _sum(loop, found.step, {}, type_)


def _end(at: Operation, end: End, values: dict[SSAValue, SSAValue], type_: Attribute) -> SSAValue:
    if end.divisor == 1:
        return _sum(at, end.over, values, type_)
    by = number(at, end.divisor, type_)
    if end.natural:
        over = _sum(at, end.over.plus(Sum(const=end.divisor - 1)), values, type_)
        return emit(at, arith.DivSIOp, [over, by], [type_])
    return emit(at, arith.CeilDivSIOp, [_sum(at, end.over, values, type_), by], [type_])


def _sum(at: Operation, sum: Sum, values: dict[SSAValue, SSAValue], type_: Attribute) -> SSAValue:
    total: SSAValue | None = None
    for value, times in sum.terms:
        part = values.get(value, value)
        if times != 1:
            part = multiply(at, part, number(at, times, type_))
        total = part if total is None else add(at, total, part)
    if total is None:
        return number(at, sum.const, type_)
    return add(at, total, number(at, sum.const, type_)) if sum.const else total


def _falling(at: Writer, index: SSAValue, found: Counted) -> SSAValue:
    """A counter that goes down, from the number of the iteration."""
    step = found.step.constant
    type_ = index.type
    assert step is not None and isinstance(type_, IntegerType | IndexType)
    by = at.emit(arith.ConstantOp, [], [type_], {"value": IntegerAttr(step, type_)}).results[0]
    gone = at.emit(arith.MuliOp, [index, by], [type_], NO_FLAGS).results[0]
    return at.emit(arith.AddiOp, [found.first, gone], [type_], NO_FLAGS).results[0]


def _needed(values: list[SSAValue], block: Block) -> set[Operation]:
    """The ops of the block that make the values."""
    found: set[Operation] = set()
    pending = list(values)
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and op.parent is block and op not in found:
            found.add(op)
            pending += [v for inside in op.walk() for v in inside.operands]
    return found


def _takes(ops: set[Operation], left: list[int], condition: scf.ConditionOp, value: SSAValue) -> bool:
    """Whether what the loop leaves is, or is made from, one of the values that it carries."""
    return any(condition.args[n] is value for n in left) or any(value in x.operands for op in ops for x in op.walk())
