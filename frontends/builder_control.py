"""Structured control flow: blocks closed as the branches of an `scf.if`, the body of an `scf.for` or `scf.while`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.ir import Block, Region
from xdsl.traits import Pure

from tileopt.dialects.kernel import UNROLL
from tileopt.frontends.builder_core import Core
from tileopt.frontends.builder_values import BOOL, I64, Operand, Value, describe, ir_type

_SPECULATED = 6  # ops that are cheaper than a branch


class Control(Core):
    """`if_`, `for_` and `while_` take functions; `finish_*` take blocks that were filled before."""

    def same_types(self, a: Sequence[Value], b: Sequence[Value], what: str) -> None:
        """Raises KernelTypeError where the values of two paths differ in type."""
        if len(a) != len(b):
            raise self.error("control/arity", f"{what} give {len(a)} and {len(b)} values")
        for x, y in zip(a, b, strict=True):
            if (x.dtype, x.shape) != (y.dtype, y.shape):
                raise self.error("control/type-change", f"{what} give different types: {x} and {y}")

    def _yield(self, block: Block, values: Sequence[Value]) -> None:
        with self.into(block):
            self.emit(scf.YieldOp, [self.ssa(v) for v in values], [])

    def finish_if(
        self, condition: Value, then: Block, then_values: Sequence[Value], other: Block, other_values: Sequence[Value]
    ) -> list[Value]:
        """Closes two detached blocks as the branches of an `scf.if`; gives the values of the branch that ran.

        A choice between scalars that cost next to nothing becomes `arith.select`, an empty choice nothing.
        """
        self.same_types(then_values, other_values, "the branches")
        then_values = [self.constant(True) if v is condition else v for v in then_values]
        other_values = [self.constant(False) if v is condition else v for v in other_values]
        lows = [_lower(a, b) for a, b in zip(then_values, other_values, strict=True)]
        if all(v.is_scalar for v in then_values) and _speculable(then, other):
            for block in (then, other):
                for op in tuple(block.ops):
                    op.detach()  # type: ignore[no-untyped-call]
                    self.block.add_op(op)
            pairs = zip(then_values, other_values, lows, strict=True)
            return [self._select(condition, a, b, low) for a, b, low in pairs]
        self._yield(then, then_values)
        blocks = [other]
        if not then_values and other.first_op is None:
            blocks = []
        else:
            self._yield(other, other_values)
        types = [ir_type(v.dtype, v.shape) for v in then_values]
        op = self.emit(scf.IfOp, [self.ssa(condition)], types, regions=[Region(then), Region(blocks)])
        return [
            Value(v.dtype, v.shape, result, low=low)
            for v, result, low in zip(then_values, op.results, lows, strict=True)
        ]

    def _select(self, condition: Value, a: Value, b: Value, low: int | None) -> Value:
        if a.dtype == BOOL and a.const is not None and b.const is not None and a.const != b.const:
            return condition if a.const else self._flip(condition)
        if a.dtype == BOOL and b.const is False:
            return self.emit_value(arith.AndIOp, [self.ssa(condition), self.ssa(a)], BOOL)
        if a.dtype == BOOL and a.const is True:
            return self.emit_value(arith.OrIOp, [self.ssa(condition), self.ssa(b)], BOOL)
        operands = [self.ssa(condition), self.ssa(a), self.ssa(b)]
        return self.emit_value(arith.SelectOp, operands, a.dtype, low=low)

    def _flip(self, condition: Value) -> Value:
        return self.emit_value(arith.XOrIOp, [self.ssa(condition), self.ssa(self.constant(True))], BOOL)

    def finish_for(
        self,
        start: Value,
        stop: Value,
        step: Value,
        init: Sequence[Value],
        body: Block,
        ends: Sequence[Value],
        unroll: bool = False,
    ) -> list[Value]:
        """Closes a detached block (induction variable, carried values) as the body of an `scf.for`; step > 0. `unroll`:
        a GPU shall run copies of the body; bounds and step are constants then."""
        self.same_types(init, ends, "the loop's start and its iteration")
        self._yield(body, ends)
        bounds = [self.ssa(start), self.ssa(stop), self.ssa(step)]
        types = [ir_type(v.dtype, v.shape) for v in init]
        op = self.emit(scf.ForOp, bounds + [self.ssa(v) for v in init], types, regions=[Region(body)])
        if unroll:
            op.attributes[UNROLL] = UnitAttr()
        return [Value(v.dtype, v.shape, result) for v, result in zip(init, op.results, strict=True)]

    def finish_while(
        self,
        init: Sequence[Value],
        before: Block,
        condition: Value,
        forwarded: Sequence[Value],
        body: Block,
        ends: Sequence[Value],
    ) -> list[Value]:
        """Closes two detached blocks as an `scf.while`.

        `before` takes what is carried and ends in the test; `forwarded` goes to `body` and, when the test fails, is
        the loop's result; `body` gives what is carried next.
        """
        self.same_types(init, ends, "the loop's start and its iteration")
        with self.into(before):
            self.emit(scf.ConditionOp, [self.ssa(condition), *(self.ssa(v) for v in forwarded)], [])
        self._yield(body, ends)
        types = [ir_type(v.dtype, v.shape) for v in forwarded]
        op = self.emit(scf.WhileOp, [self.ssa(v) for v in init], types, regions=[Region(before), Region(body)])
        return [Value(v.dtype, v.shape, result) for v, result in zip(forwarded, op.results, strict=True)]

    def if_(
        self,
        condition: Value,
        then: Callable[[], Sequence[Value]],
        other: Callable[[], Sequence[Value]] = lambda: (),
    ) -> list[Value]:
        """Runs `then` or `other`; both give values of the same types."""
        branches: list[tuple[Block, Sequence[Value]]] = []
        for branch in (then, other):
            block, _ = self.new_block()
            with self.into(block):
                branches.append((block, branch()))
        return self.finish_if(self.boolean(condition), *branches[0], *branches[1])

    def for_(
        self,
        start: Operand,
        stop: Operand,
        step: Operand,
        init: Sequence[Value],
        body: Callable[[Value, Sequence[Value]], Sequence[Value]],
    ) -> list[Value]:
        """`for i in range(start, stop, step)` with carried values; `step` is positive."""
        low, high, stride = (self.in_index(v) for v in (start, stop, step))
        block, (index, *carried) = self.new_block([(I64, ()), *((v.dtype, v.shape) for v in init)])
        with self.into(block):
            ends = body(index, carried)
        return self.finish_for(low, high, stride, init, block, ends)

    def in_index(self, value: Operand) -> Value:
        """A loop bound, which must be an i64 scalar already."""
        made = self.as_value(value)
        if made.dtype != I64 or made.shape:
            raise self.error("type/index", f"a loop's bound is an i64 scalar, not {describe(made.dtype, made.shape)}")
        return made

    def while_(
        self,
        init: Sequence[Value],
        test: Callable[[Sequence[Value]], Value],
        body: Callable[[Sequence[Value]], Sequence[Value]],
    ) -> list[Value]:
        """`while test(carried): carried = body(carried)`."""
        types = [(v.dtype, v.shape) for v in init]
        before, carried = self.new_block(types)
        with self.into(before):
            condition = self.boolean(test(carried))
        after, arguments = self.new_block(types)
        with self.into(after):
            ends = body(arguments)
        return self.finish_while(init, before, condition, carried, after, ends)

    def boolean(self, value: Operand) -> Value:
        """A scalar condition, which must be a bool already."""
        made = self.as_value(value)
        if made.dtype != BOOL or made.shape:
            raise self.error("type/condition", f"a condition is a bool scalar, not {describe(made.dtype, made.shape)}")
        return made


def _speculable(*blocks: Block) -> bool:
    """Whether a few scalar ops may run though the program would not have run them."""
    ops = [op for block in blocks for op in block.ops]
    return len(ops) <= _SPECULATED and all(
        not op.regions and op.has_trait(Pure) and not any(isinstance(r.type, TensorType) for r in op.results)
        for op in ops
    )


def _lower(a: Value, b: Value) -> int | None:
    return None if a.low is None or b.low is None else min(a.low, b.low)
