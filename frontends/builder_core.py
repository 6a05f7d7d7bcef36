"""The ground of every builder: places, blocks, constants and structured control flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.traits import Pure

from tileopt.dialects import arith as _mended  # noqa: F401  (comparisons of tiles)
from tileopt.dialects import tile
from tileopt.dialects.diagnostics import KernelTypeError, Location, TileoptError, fileloc, shown
from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder_values import (
    Operand,
    Value,
    Weak,
    constant_attr,
    default_dtype,
    fit,
    ir_type,
    readable,
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
        return KernelTypeError(code, readable(message), location=self.location, help=help)

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
            what = f"the constant {shown(value)} does not fit in {dtype}"
            raise self.error("type/constant-range", what, _range_help(dtype))
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


def _range_help(dtype: DType) -> str:
    from tileopt.frontends.builder_values import integer_range

    if dtype.is_float:
        return "write a smaller number, or compute in a wider type"
    low, high = integer_range(dtype)
    return f"{dtype} holds the integers from {low} to {high}: cast the other operand to a wider type"
