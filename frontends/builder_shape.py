"""Extents and element types: broadcasting, reshaping, casts, and how operands meet."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.irdl import IRDLOperation

from tileopt.dialects import tile
from tileopt.dialects.diagnostics import TileoptError, counted
from tileopt.dialects.dtypes import PACKED, DType
from tileopt.frontends.builder_control import Control
from tileopt.frontends.builder_values import (
    BOOL,
    F32,
    I32,
    I64,
    Operand,
    Value,
    Weak,
    default_dtype,
    promote,
    wrap,
)


class Shapes(Control):
    """Reshaping and casting; `meet` is where NumPy's broadcasting and our promotion happen."""

    # Extents

    def check_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Extents of a tile. Raises where one is not positive (`type/extent`) or the tile is too large."""
        for extent in shape:
            if extent < 1:
                raise self.error("type/extent", f"a tile's extents are positive, got {tuple(shape)}")
        if math.prod(shape) > tile.MAX_ELEMENTS:
            raise self.error(
                "limits/tile-size",
                f"a tile of {tuple(shape)} has {math.prod(shape)} elements; the limit is {tile.MAX_ELEMENTS}",
                "let each block compute a smaller tile",
            )
        return tuple(shape)

    def splat(self, value: Value, shape: Sequence[int]) -> Value:
        """A tile with a scalar in every element."""
        extents = self.check_shape(shape)
        if not extents:
            return value
        return self.emit_value(tile.Splat, [self.ssa(value)], value.dtype, extents, low=value.low)

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """The same elements in row-major order; one extent may be -1. A rank of 0 gives a scalar."""
        extents = list(shape)
        total = math.prod(value.shape)
        if extents.count(-1) == 1:
            rest = -math.prod(extents)
            if rest > 0 and total % rest == 0:
                extents[extents.index(-1)] = total // rest
        if any(n < 1 for n in extents) or math.prod(extents) != total:
            held = f"{value.shape} has {counted(total, 'element', 'elements')}"
            raise self.error("type/shape", f"{held} and cannot be reshaped to {tuple(shape)}")
        result = self.check_shape(extents)
        if result == value.shape:
            return value
        if not value.shape:
            return self.splat(value, result)
        if not result:
            return self.emit_value(tile.ToScalar, [self.ssa(value)], value.dtype, (), low=value.low)
        return self.emit_value(tile.Reshape, [self.ssa(value)], value.dtype, result, low=value.low)

    def broadcast_to(self, value: Value, shape: Sequence[int]) -> Value:
        """NumPy's broadcasting to exactly these extents."""
        extents = self.check_shape(shape)
        if value.shape == extents:
            return value
        if not value.shape:
            return self.splat(value, extents)
        padded = (1,) * (len(extents) - len(value.shape)) + value.shape
        if len(padded) > len(extents) or any(s not in (1, r) for s, r in zip(padded, extents, strict=True)):
            raise self.error("type/shape", f"a tile of {value.shape} cannot be broadcast to {extents}")
        made = self.reshape(value, padded)
        if padded == extents:
            return made
        return self.emit_value(tile.Broadcast, [self.ssa(made)], value.dtype, extents, low=value.low)

    def common_shape(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The extents to which all of these broadcast."""
        result: list[int] = []
        for back in range(max(map(len, shapes), default=0), 0, -1):
            extents = {s[-back] for s in shapes if len(s) >= back} - {1}
            if len(extents) > 1:
                listed = " and ".join(str(s) for s in dict.fromkeys(s for s in shapes if s))
                raise self.error(
                    "type/shape",
                    f"tiles of {listed} do not broadcast together: {' and '.join(map(str, sorted(extents)))} meet",
                    "extents must be equal or 1, counted from the last axis; add axes with x[:, None] or x[None, :]",
                )
            result.append(extents.pop() if extents else 1)
        return tuple(result)

    def axis(self, value: Value, axis: int) -> int:
        """An axis of a tile, counted from the end where negative."""
        rank = len(value.shape)
        if not -rank <= axis < rank:
            raise self.error("type/axis", f"axis {axis} is not an axis of a {value}")
        return axis % rank

    def expand_dims(self, value: Value, axis: int) -> Value:
        """Inserts an axis of extent 1 so that it becomes axis `axis` of the result."""
        rank = len(value.shape) + 1
        if not -rank <= axis < rank:
            raise self.error("type/axis", f"axis {axis} cannot be added to a {value}")
        at = axis % rank
        return self.reshape(value, value.shape[:at] + (1,) + value.shape[at:])

    def transpose(self, value: Value, axes: Sequence[int] | None = None) -> Value:
        """Axis i of the result is axis `axes[i]` of the value; by default the order of the axes is reversed."""
        rank = len(value.shape)
        order = list(range(rank))[::-1] if axes is None else [self.axis(value, a) for a in axes]
        if sorted(order) != list(range(rank)):
            raise self.error("type/axis", f"{tuple(axes or ())} is not a permutation of the axes of a {value}")
        if order == list(range(rank)):
            return value
        properties = {"permutation": DenseArrayBase.from_list(i64, order)}
        shape = tuple(value.shape[a] for a in order)
        return self.emit_value(tile.Transpose, [self.ssa(value)], value.dtype, shape, properties, value.low)

    # Element types

    def cast(self, value: Operand, dtype: DType) -> Value:
        """Another element type. Floats truncate toward zero to integers; a bool is true where the value is not 0."""
        made = self.as_value(value)
        if made.dtype == dtype:
            return made
        if made.const is not None:
            folded = _cast_constant(made.const, dtype)
            if folded is not None:
                return self.constant(folded, dtype)
        source = made.dtype
        if dtype.kind == "b":
            return self._is_nonzero(made)
        if source.is_float and dtype.is_float:
            return self._cast_float(made, dtype)
        if source.is_float:
            if source.bits == 8:
                made = self._cast_float(made, F32)
            return self._convert(arith.FPToUIOp if dtype.kind == "u" else arith.FPToSIOp, made, dtype)
        if dtype.is_float:
            op: type[IRDLOperation] = arith.SIToFPOp if source.kind == "i" else arith.UIToFPOp
            if dtype.bits == 8:
                return self._cast_float(self._convert(op, made, F32), dtype)
            return self._convert(op, made, dtype)
        low = made.low if made.low is not None and made.low >= 0 and dtype.bits > source.bits else None
        bits = 1 if source.kind == "b" else source.bits
        if dtype.bits == bits:
            return Value(dtype, made.shape, self.ssa(made))  # the IR's integers are signless
        if dtype.bits < bits:
            return self._convert(arith.TruncIOp, made, dtype)
        return self._convert(arith.ExtSIOp if source.kind == "i" else arith.ExtUIOp, made, dtype, low)

    def _convert(self, op: type[IRDLOperation], value: Value, dtype: DType, low: int | None = None) -> Value:
        return self.emit_value(op, [self.ssa(value)], dtype, value.shape, low=low)

    def _cast_float(self, value: Value, dtype: DType) -> Value:
        source = value.dtype
        if source.bits == dtype.bits or (8 in (source.bits, dtype.bits) and 16 in (source.bits, dtype.bits)):
            # Through f32, which holds every 8 and 16 bit float exactly: only the last step rounds.
            value, source = self._convert(arith.ExtFOp, value, F32), F32
        if source == dtype:
            return value
        return self._convert(arith.ExtFOp if dtype.bits > source.bits else arith.TruncFOp, value, dtype)

    def _is_nonzero(self, value: Value) -> Value:
        if value.dtype.is_float and value.dtype.bits == 8:
            value = self._cast_float(value, F32)
        zero = self.splat(self.constant(0.0 if value.dtype.is_float else 0, value.dtype), value.shape)
        op: type[IRDLOperation] = arith.CmpfOp if value.dtype.is_float else arith.CmpiOp
        predicate = 13 if value.dtype.is_float else 1  # une, ne
        properties = {"predicate": IntegerAttr(predicate, i64)}
        return self.emit_value(op, [self.ssa(value), self.ssa(zero)], BOOL, value.shape, properties)

    # Operands

    def common_dtype(self, operands: Sequence[Operand], what: str) -> DType:
        """The type in which operands meet. Raises `type/no-common` where there is none."""
        strong = [v for v in operands if isinstance(v, Value)]
        weak = [v for v in operands if not isinstance(v, Value)]
        result: DType | None = None
        for value in strong:
            met = value.dtype if result is None else promote(result, value.dtype)
            if met is None:
                raise self.error(
                    "type/no-common",
                    f"{what} of {result} and {value.dtype}: neither type holds the other's values",
                    f"cast one of them, for example with .astype(tile.{'f32' if value.dtype.is_float else 'i64'})",
                )
            result = met
        if result is None:
            for number in weak:
                result = default_dtype(number) if result is None else promote(result, default_dtype(number))
            assert result is not None
            return result
        if result.name in PACKED:
            raise self.packed_operand(result, what)
        if any(isinstance(n, float) for n in weak) and not result.is_float:
            return F32
        if result.kind == "b" and any(not isinstance(n, bool) for n in weak):
            return self.count_dtype(strong)
        return result

    def packed_operand(self, dtype: DType, what: str) -> TileoptError:
        """The error of computing with values of a packed type."""
        help = "cast them to a wider type first, for example with .astype(tile.bf16)"
        return self.error("type/packed", f"{what} of {dtype} values", help)

    def count_dtype(self, values: Sequence[Value]) -> DType:
        """The integer type that bools take part in arithmetic as: i64 for scalars, i32 for tiles."""
        return I64 if all(v.is_scalar for v in values) else I32

    def meet(self, operands: Sequence[Operand], what: str, dtype: DType | None = None) -> list[Value]:
        """Operands in one type and one shape: NumPy's broadcasting, our promotion."""
        common = self.common_dtype(operands, what) if dtype is None else dtype
        shape = self.common_shape([v.shape for v in operands if isinstance(v, Value)])
        return [self.broadcast_to(self.in_dtype(v, common), shape) for v in operands]

    def in_dtype(self, operand: Operand, dtype: DType) -> Value:
        """A value cast to a type, a Python number as a constant of it (which must fit)."""
        return self.cast(operand, dtype) if isinstance(operand, Value) else self.constant(operand, dtype)

    def where(self, condition: Operand, a: Operand, b: Operand) -> Value:
        """Elements of `a` where the condition holds, else of `b`; all three broadcast."""
        test = self.as_value(condition)
        if test.dtype != BOOL:
            raise self.error(
                "type/condition", f"where() chooses by bools, not by a {test}", "compare first, for example x != 0"
            )
        dtype = self.common_dtype([a, b], "a choice")
        shape = self.common_shape([v.shape for v in (test, a, b) if isinstance(v, Value)])
        if test.const is not None:
            return self.broadcast_to(self.in_dtype(a if test.const else b, dtype), shape)
        chosen = [self.broadcast_to(self.in_dtype(v, dtype), shape) for v in (a, b)]
        low = None if chosen[0].low is None or chosen[1].low is None else min(chosen[0].low, chosen[1].low)
        operands = [self.ssa(self.broadcast_to(test, shape)), *(self.ssa(v) for v in chosen)]
        return self.emit_value(arith.SelectOp, operands, dtype, shape, low=low)


def _cast_constant(value: Weak, dtype: DType) -> Weak | None:
    """A constant in another type where the result is the same on every machine; None leaves it to run time."""
    if dtype.kind == "b":
        return value != 0
    if dtype.is_float:
        return float(value) if not isinstance(value, int) or abs(value) <= 1 << 24 else None
    if isinstance(value, float):
        if not math.isfinite(value) or abs(value) >= 1 << dtype.bits - 1 or (dtype.kind == "u" and value <= -1):
            return None
        return int(value)
    return wrap(int(value), dtype)
