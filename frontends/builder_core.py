"""The ground of every builder: places, blocks, constants and structured control flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, LocationAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.traits import Pure

from tileopt.dialects import arith as _mended  # noqa: F401  (comparisons of tiles)
from tileopt.dialects import tile
from tileopt.dialects.diagnostics import KernelTypeError, Location, TileoptError, fileloc
from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder_values import (
    BOOL,
    I64,
    Operand,
    Value,
    Weak,
    articles,
    constant_attr,
    default_dtype,
    describe,
    fit,
    ir_type,
)

_FLAGS: dict[str, Attribute] = {
    "fastmath": arith.FastMathFlagsAttr("none"),
    "overflowFlags": arith.IntegerOverflowAttr("none"),
}


_SPECULATED = 6  # ops that are cheaper than a branch


@cache
def _flags(op: type[IRDLOperation]) -> dict[str, Attribute]:
    """The flags that an op's constructor would set."""
    known = op.get_irdl_definition().properties
    return {name: flag for name, flag in _FLAGS.items() if name in known}


class Core:
    """Appends ops to a current block, each with the current place.

    Set `location` before the calls that a piece of source gives rise to; errors name it as well.
    """

    def __init__(self) -> None:
        self.location: Location | None = None
        self.entry = Block()
        self.block = self.entry
        self._places: dict[tuple[str, int, int], FileLineColLoc] = {}
        self._constants: dict[tuple[DType, str], SSAValue] = {}
        self._last_constant: Operation | None = None

    # Errors

    def error(self, code: str, message: str, help: str | None = None) -> TileoptError:
        """A type error at the current place; the caller raises it."""
        return KernelTypeError(code, articles(message), location=self.location, help=help)

    # Ops

    def _place(self) -> LocationAttr:
        where = self.location
        if where is None:
            return UNKNOWN_LOC
        key = (where.file, where.line, where.column)
        if key not in self._places:
            self._places[key] = fileloc(*key)
        return self._places[key]

    def emit(
        self,
        op: type[IRDLOperation],
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
        properties: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> Operation:
        """Appends an op, without the checks of its constructor: those of the verifier stay."""
        made = dict(_flags(op))
        if properties:
            made |= properties
        new = op.create(operands=operands, result_types=results, properties=made, regions=regions)
        new.location = self._place()
        self.block.add_op(new)
        return new

    def emit_value(
        self,
        op: type[IRDLOperation],
        operands: Sequence[SSAValue],
        dtype: DType,
        shape: tuple[int, ...] = (),
        properties: Mapping[str, Attribute] | None = None,
        low: int | None = None,
    ) -> Value:
        """Appends an op of one result."""
        new = self.emit(op, operands, [ir_type(dtype, shape)], properties)
        return Value(dtype, shape, new.results[0], low=low)

    # Constants

    def constant(self, value: Weak, dtype: DType | None = None) -> Value:
        """A scalar constant. Raises KernelTypeError (`type/constant-range`) where the type cannot hold it."""
        dtype = default_dtype(value) if dtype is None else dtype
        held = fit(value, dtype)
        if held is None:
            raise self.error("type/constant-range", f"the constant {value} does not fit in {dtype}", _range_help(dtype))
        low = int(held) if not dtype.is_float else None
        return Value(dtype, (), None, held, low)

    def ssa(self, value: Value) -> SSAValue:
        """The IR's value; a constant gets its op at the head of the kernel, once."""
        if value.ssa is not None:
            return value.ssa
        assert value.const is not None and value.is_scalar
        key = (value.dtype, repr(value.const))
        if key not in self._constants:
            attr = constant_attr(value.const, value.dtype)
            op = arith.ConstantOp.create(result_types=[value.dtype.ir], properties={"value": attr})
            op.location = self._place()
            if self._last_constant is not None:
                self.entry.insert_ops_after([op], self._last_constant)
            elif self.entry.first_op is not None:
                self.entry.insert_ops_before([op], self.entry.first_op)
            else:
                self.entry.add_op(op)
            self._last_constant = op
            self._constants[key] = op.result
        return self._constants[key]

    def as_value(self, value: Operand) -> Value:
        """A Python number as a scalar of its default type; a value as itself."""
        return value if isinstance(value, Value) else self.constant(value)

    def dummy(self, dtype: DType, shape: tuple[int, ...] = ()) -> Value:
        """Some value of a type, for a path on which nobody reads it."""
        zero = self.constant(0.0 if dtype.is_float else False if dtype.kind == "b" else 0, dtype)
        return zero if not shape else self.emit_value(tile.Splat, [self.ssa(zero)], dtype, shape)

    # Blocks and control flow

    @contextmanager
    def into(self, block: Block) -> Iterator[Block]:
        """Appends to `block` inside the `with`."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    def new_block(self, types: Sequence[tuple[DType, tuple[int, ...]]] = ()) -> tuple[Block, list[Value]]:
        """A detached block with arguments of these types."""
        block = Block(arg_types=[ir_type(*t) for t in types])
        place = self._place()
        for argument in block.args:
            argument.location = place
        return block, [Value(*t, a) for t, a in zip(types, block.args, strict=True)]

    def discard(self, block: Block) -> None:
        """Forgets a detached block that will not be used."""
        for op in block.ops:
            op.drop_all_references()
        block.erase(safe_erase=False)

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
        self, start: Value, stop: Value, step: Value, init: Sequence[Value], body: Block, ends: Sequence[Value]
    ) -> list[Value]:
        """Closes a detached block (induction variable, carried values) as the body of an `scf.for`; step > 0."""
        self.same_types(init, ends, "the loop's start and its iteration")
        self._yield(body, ends)
        bounds = [self.ssa(start), self.ssa(stop), self.ssa(step)]
        types = [ir_type(v.dtype, v.shape) for v in init]
        op = self.emit(scf.ForOp, bounds + [self.ssa(v) for v in init], types, regions=[Region(body)])
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


def remove_unused(block: Block) -> None:
    """Removes ops without effect whose results nobody uses. Reading an array is no effect here."""
    op = block.last_op
    while op is not None:
        before = op.prev_op
        for region in op.regions:
            for inner in region.blocks:
                remove_unused(inner)
        if op.results and not op.regions and all(r.first_use is None for r in op.results):
            if op.has_trait(Pure) or isinstance(op, tile.Load | tile.Mma):
                op.detach()  # type: ignore[no-untyped-call]
                op.erase()
        op = before


def _lower(a: Value, b: Value) -> int | None:
    return None if a.low is None or b.low is None else min(a.low, b.low)


def _range_help(dtype: DType) -> str:
    from tileopt.frontends.builder_values import integer_range

    if dtype.is_float:
        return "write a smaller number, or compute in a wider type"
    low, high = integer_range(dtype)
    return f"{dtype} holds the integers from {low} to {high}: cast the other operand to a wider type"
