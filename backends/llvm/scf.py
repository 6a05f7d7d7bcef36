"""The scf dialect: structured loops and branches to LLVM blocks and phis. Loops stay rolled."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tileopt.backends.llvm.arith import chunk_type, constant_int
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.values import Buffer, Fragment, Value
from tileopt.dialects.diagnostics import UnsupportedError
from tileopt.dialects.kernel import NO_WRAP


def parts(emitter: Emitter, value: Value) -> list[str]:
    """The operands that a value consists of and that a phi can choose."""
    match value:
        case str():
            return [value]
        case Fragment(chunks=chunks):
            return list(chunks)
        case Buffer(pointer=pointer):
            return [pointer]
        case _:
            raise UnsupportedError("backend/carried-array", "an array cannot be chosen at run time")


def rebuild(value: Value, texts: Sequence[str]) -> Value:
    """The same kind of value from other operands."""
    match value:
        case Fragment(element=element, width=width):
            return Fragment(element, width, tuple(texts))
        case Buffer(type=type_, align=align):
            return Buffer(texts[0], type_, align)
        case _:
            return texts[0]


def part_type(emitter: Emitter, value: SSAValue, kind: Value) -> str:
    """LLVM type of each of a value's parts."""
    return emitter.backend.shared_pointer if isinstance(kind, Buffer) else chunk_type(emitter, value)


class Phis:
    """Phis at the head of a block, for values of which the second incoming one is known only later."""

    def __init__(self, emitter: Emitter, targets: Sequence[SSAValue], first: Sequence[Value], block: str) -> None:
        self.emitter = emitter
        self.block = block
        self.rows: list[tuple[int, str, str, str]] = []  # line, name, type, operand from `block`
        for target, value in zip(targets, first, strict=True):
            type_ = part_type(emitter, target, value)
            names: list[str] = []
            for part in parts(emitter, value):
                names.append(emitter.fresh())
                self.rows.append((emitter.reserve(), names[-1], type_, part))
            emitter.values[target] = rebuild(value, names)

    def close(self, second: Sequence[Value], block: str) -> None:
        """Adds the values that come from `block`."""
        later = [part for value in second for part in parts(self.emitter, value)]
        for (line, name, type_, part), other in zip(self.rows, later, strict=True):
            self.emitter.fill(line, f"{name} = phi {type_} [ {part}, %{self.block} ], [ {other}, %{block} ]")


def values(emitter: Emitter, operands: Sequence[SSAValue]) -> list[Value]:
    return [emitter.values[v] for v in operands]


def for_(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    body = op.body.block
    index, *carried = body.args
    type_ = emitter.element(index.type)
    lower, upper, step = (emitter.scalar(v) for v in (op.lb, op.ub, op.step))
    head, inside, done = emitter.label("for"), emitter.label("body"), emitter.label("done")
    before = emitter.block
    emitter.branch(head)
    emitter.start(head)
    phis = Phis(emitter, [index, *carried], [lower, *values(emitter, op.iter_args)], before)
    at = emitter.scalar(index)
    more = emitter.assign(f"icmp slt {type_} {at}, {upper}")
    emitter.branch_if(more, inside, done)
    emitter.start(inside)
    last = emitter.emit_block(body)
    following = next_index(emitter, op, at, upper, step)
    phis.close([following, *values(emitter, last.operands)], emitter.block)
    emitter.branch(head)
    emitter.start(done)
    for result, argument in zip(op.res, carried, strict=True):
        emitter.values[result] = emitter.values[argument]


def next_index(emitter: Emitter, op: scf.ForOp, at: str, upper: str, step: str) -> str:
    """The induction value of the next iteration, or the bound: it never wraps, wherever the bound is."""
    type_ = emitter.element(op.ub.type)
    # A step of one cannot pass the bound.
    if constant_int(step) == 1 or NO_WRAP in op.attributes:
        return emitter.assign(f"add nsw {type_} {at}, {step}")
    left = emitter.assign(f"sub {type_} {upper}, {at}")
    more = emitter.assign(f"icmp ugt {type_} {left}, {step}")
    following = emitter.assign(f"add {type_} {at}, {step}")
    return emitter.assign(f"select i1 {more}, {type_} {following}, {type_} {upper}")


def if_(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    then, end = emitter.label("then"), emitter.label("end")
    otherwise = emitter.label("else") if op.false_region.blocks else end
    before = emitter.block
    emitter.branch_if(emitter.scalar(op.cond), then, otherwise)
    emitter.start(then)
    last = emitter.emit_block(op.true_region.block)
    first, from_first = values(emitter, last.operands), emitter.block
    emitter.branch(end)
    second: list[Value] = []
    from_second = before
    if otherwise != end:
        emitter.start(otherwise)
        last = emitter.emit_block(op.false_region.block)
        second, from_second = values(emitter, last.operands), emitter.block
        emitter.branch(end)
    emitter.start(end)
    if op.results:
        Phis(emitter, op.results, first, from_first).close(second, from_second)


def while_(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    test, body = op.before_region.block, op.after_region.block
    head, inside, done = emitter.label("while"), emitter.label("body"), emitter.label("done")
    before = emitter.block
    emitter.branch(head)
    emitter.start(head)
    phis = Phis(emitter, test.args, values(emitter, op.arguments), before)
    condition = emitter.emit_block(test)
    assert isinstance(condition, scf.ConditionOp)
    emitter.branch_if(emitter.scalar(condition.condition), inside, done)
    passed = values(emitter, condition.args)
    emitter.start(inside)
    emitter.values.update(zip(body.args, passed, strict=True))
    last = emitter.emit_block(body)
    phis.close(values(emitter, last.operands), emitter.block)
    emitter.branch(head)
    emitter.start(done)
    emitter.values.update(zip(op.res, passed, strict=True))


HANDLERS: dict[type[Operation], Handler] = {scf.ForOp: for_, scf.IfOp: if_, scf.WhileOp: while_}
