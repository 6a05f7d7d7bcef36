"""The scf dialect: structured loops and branches to LLVM blocks and phis. Loops stay rolled, but
LLVM unrolls those that ask for it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tileopt.backends.llvm.arith import chunk_type, constant_int
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.values import Buffer, Fragment, Value
from tileopt.dialects.diagnostics import UnsupportedError
from tileopt.dialects.kernel import NO_WRAP, UNROLL


def parts(emitter: Emitter, value: Value) -> list[str]:
    """The operands that a value consists of and that a phi can choose."""
    match value:
        case str():
            return [value]
        case Fragment(chunks=chunks) if in_pairs(emitter, value):
            return [_pair(emitter, value.element, *two) for two in zip(chunks[::2], chunks[1::2], strict=True)]
        case Fragment(chunks=chunks):
            return list(chunks)
        case Buffer(pointer=pointer):
            return [pointer]
        case _:
            raise UnsupportedError("backend/carried-array", "an array cannot be chosen at run time")


def in_pairs(emitter: Emitter, value: Value) -> bool:
    """Whether a fragment's registers travel two in one: scalars of 16 bits would take a whole register each."""
    if not isinstance(value, Fragment) or not emitter.backend.pairs_halves:
        return False
    return value.width == 1 and len(value.chunks) % 2 == 0 and value.element in ("half", "bfloat")


def _pair(emitter: Emitter, element: str, low: str, high: str) -> str:
    one = emitter.assign(f"insertelement <2 x {element}> poison, {element} {low}, i32 0")
    return emitter.assign(f"insertelement <2 x {element}> {one}, {element} {high}, i32 1")


def rebuild(emitter: Emitter, value: Value, texts: Sequence[str]) -> Value:
    """The same kind of value from other operands."""
    match value:
        case Fragment(element=element, width=width) if in_pairs(emitter, value):
            pair = f"<2 x {element}>"
            each = (emitter.assign(f"extractelement {pair} {text}, i32 {i}") for text in texts for i in range(2))
            return Fragment(element, width, tuple(each))
        case Fragment(element=element, width=width):
            return Fragment(element, width, tuple(texts))
        case Buffer(type=type_, align=align):
            return Buffer(texts[0], type_, align)
        case _:
            return texts[0]


def part_type(emitter: Emitter, value: SSAValue, kind: Value) -> str:
    """LLVM type of each of a value's parts."""
    if isinstance(kind, Fragment) and in_pairs(emitter, kind):
        return f"<2 x {kind.element}>"
    return emitter.backend.shared_pointer if isinstance(kind, Buffer) else chunk_type(emitter, value)


class Leaving:
    """Values that the block being written hands on, taken apart; to be made before its branch."""

    def __init__(self, emitter: Emitter, values: Sequence[Value]) -> None:
        self.block = emitter.block
        self.values = values
        self.parts = [parts(emitter, value) for value in values]


class Phis:
    """Phis at the head of a block, for values of which the second incoming one is known only later."""

    def __init__(self, emitter: Emitter, targets: Sequence[SSAValue], first: Leaving) -> None:
        self.emitter = emitter
        self.first = first.block
        self.rows: list[tuple[int, str, str, str]] = []  # line, name, type, operand from the first block
        made: list[list[str]] = []
        for target, value, texts in zip(targets, first.values, first.parts, strict=True):
            type_ = part_type(emitter, target, value)
            made.append([emitter.fresh() for _ in texts])
            self.rows += [(emitter.reserve(), name, type_, text) for name, text in zip(made[-1], texts, strict=True)]
        for target, value, names in zip(targets, first.values, made, strict=True):
            emitter.values[target] = rebuild(emitter, value, names)

    def close(self, second: Leaving) -> None:
        """Adds the values of the other block."""
        later = [text for texts in second.parts for text in texts]
        for (line, name, type_, part), other in zip(self.rows, later, strict=True):
            self.emitter.fill(line, f"{name} = phi {type_} [ {part}, %{self.first} ], [ {other}, %{second.block} ]")


def values(emitter: Emitter, operands: Sequence[SSAValue]) -> list[Value]:
    return [emitter.values[v] for v in operands]


def for_(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    body = op.body.block
    index, *carried = body.args
    type_ = emitter.element(index.type)
    lower, upper, step = (emitter.scalar(v) for v in (op.lb, op.ub, op.step))
    head, inside, done = emitter.label("for"), emitter.label("body"), emitter.label("done")
    before = Leaving(emitter, [lower, *values(emitter, op.iter_args)])
    emitter.branch(head)
    emitter.start(head)
    phis = Phis(emitter, [index, *carried], before)
    at = emitter.scalar(index)
    more = emitter.assign(f"icmp slt {type_} {at}, {upper}")
    emitter.branch_if(more, inside, done)
    emitter.start(inside)
    last = emitter.emit_block(body)
    following = next_index(emitter, op, at, upper, step)
    phis.close(Leaving(emitter, [following, *values(emitter, last.operands)]))
    unroll = UNROLL in op.attributes and emitter.backend.unrolls
    emitter.branch(head, emitter.output.loop_node("llvm.loop.unroll.full") if unroll else None)
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
    second = Leaving(emitter, [])
    emitter.branch_if(emitter.scalar(op.cond), then, otherwise)
    emitter.start(then)
    last = emitter.emit_block(op.true_region.block)
    first = Leaving(emitter, values(emitter, last.operands))
    emitter.branch(end)
    if otherwise != end:
        emitter.start(otherwise)
        last = emitter.emit_block(op.false_region.block)
        second = Leaving(emitter, values(emitter, last.operands))
        emitter.branch(end)
    emitter.start(end)
    if op.results:
        Phis(emitter, op.results, first).close(second)


def while_(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    test, body = op.before_region.block, op.after_region.block
    head, inside, done = emitter.label("while"), emitter.label("body"), emitter.label("done")
    before = Leaving(emitter, values(emitter, op.arguments))
    emitter.branch(head)
    emitter.start(head)
    phis = Phis(emitter, test.args, before)
    condition = emitter.emit_block(test)
    assert isinstance(condition, scf.ConditionOp)
    emitter.branch_if(emitter.scalar(condition.condition), inside, done)
    passed = values(emitter, condition.args)
    emitter.start(inside)
    emitter.values.update(zip(body.args, passed, strict=True))
    last = emitter.emit_block(body)
    phis.close(Leaving(emitter, values(emitter, last.operands)))
    emitter.branch(head)
    emitter.start(done)
    emitter.values.update(zip(op.res, passed, strict=True))


HANDLERS: dict[type[Operation], Handler] = {scf.ForOp: for_, scf.IfOp: if_, scf.WhileOp: while_}
