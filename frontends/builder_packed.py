"""Values of four bits, packed two in a byte, and elements repeated along an axis."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute

from tileopt.dialects import tile
from tileopt.dialects.checks import is_power_of_two
from tileopt.dialects.dtypes import DTYPES, PACKED, DType
from tileopt.frontends.builder_math import ACCUMULATORS, Functions
from tileopt.frontends.builder_values import F32, Operand, Value

_BYTES = ("i8", "u8")
I8, U8, E4M3 = DTYPES["i8"], DTYPES["u8"], DTYPES["f8e4m3fn"]


class Packing(Functions):
    """Packing, unpacking, repeating."""

    def unpack(self, value: Value, dtype: DType, axis: int = -1) -> Value:
        """The values of type `dtype` that a tile of bytes holds, two for each along the axis, the low half first."""
        if dtype.name not in PACKED:
            raise self.error("type/packed", f"{dtype} values are not packed", f"packed types are {', '.join(PACKED)}")
        if value.dtype.name not in _BYTES or not value.shape:
            raise self.error("type/packed", f"unpack() takes a tile of bytes, u8 or i8, not a {value}")
        at = self.axis(value, axis)
        shape = (*value.shape[:at], 2 * value.shape[at], *value.shape[at + 1 :])
        return self._unpacked(value, dtype, dtype, at, self.check_shape(shape))

    def _unpacked(self, source: Value, dtype: DType, read_as: DType, axis: int, shape: tuple[int, ...]) -> Value:
        type_ = TensorType(read_as.ir, shape)
        op = self.emit(tile.Unpack, [self.ssa(source)], [type_], _packing(dtype, axis))
        return Value(read_as, shape, op.results[0])

    def cast(self, value: Value | bool | int | float, dtype: DType) -> Value:
        """As for other types; values that were just unpacked are read as the wider type at once."""
        made = self.as_value(value)
        if dtype.name in PACKED and made.dtype != dtype:
            raise self.error(
                "type/packed", f"a cast to {dtype}, of which a byte holds two",
                f"tile.pack(x, tile.{dtype}) makes bytes of a tile",
            )  # fmt: skip
        if made.dtype.name not in PACKED or made.dtype == dtype or dtype.kind == "b":
            return super().cast(made, dtype)
        op = None if made.ssa is None else made.ssa.owner
        if isinstance(op, tile.Unpack) and dtype.is_float and dtype.name != "f8e5m2":
            read_as = dtype if dtype.bits <= 32 and dtype.name != "f8e8m0fnu" else F32
            direct = self.emit(
                tile.Unpack, [op.source], [TensorType(read_as.ir, made.shape)],
                {"format": op.format, "axis": op.axis},
            )  # fmt: skip
            return super().cast(Value(read_as, made.shape, direct.results[0]), dtype)
        return super().cast(self._in_eight_bits(made), dtype)

    def _in_eight_bits(self, value: Value) -> Value:
        """Packed values as what they are in the IR: the type of 8 bits that holds them."""
        if value.dtype.name not in PACKED:
            return value
        dtype = E4M3 if value.dtype.is_float else I8 if value.dtype.kind == "i" else U8
        return Value(dtype, value.shape, self.ssa(value))

    def mma(self, a: Value, b: Value, acc: Value | None = None, precision: str | None = None) -> Value:
        """As for other types; packed values are multiplied in the type of 8 bits that holds them."""
        x, y = self._in_eight_bits(a), self._in_eight_bits(b)
        if x.dtype != y.dtype and x.dtype.name in ACCUMULATORS and y.dtype.name in ACCUMULATORS:
            raise self.unlike(a.dtype, b.dtype)  # by the types that the author wrote
        return super().mma(x, y, acc, precision)

    # Of the packed types only the integers have functions: of f4e2m1fn, results would have to be rounded to it.

    def _computable(self, a: Operand, what: str) -> Operand:
        if isinstance(a, Value) and a.dtype.is_float and a.dtype.name in PACKED:
            raise self.packed_operand(a.dtype, what)
        return a

    def math(self, name: str, a: Operand) -> Value:
        """As for other types; not of f4e2m1fn."""
        return super().math(name, self._computable(a, f"{name}()"))

    def abs(self, a: Operand) -> Value:
        """As for other types; not of f4e2m1fn."""
        return super().abs(self._computable(a, "abs()"))

    def sigmoid(self, a: Operand) -> Value:
        """As for other types; not of f4e2m1fn."""
        return super().sigmoid(self._computable(a, "sigmoid()"))

    def negate(self, a: Operand) -> Value:
        """As for other types; not of f4e2m1fn."""
        return super().negate(self._computable(a, "'-'"))

    def reduce(self, kind: str, value: Value, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value:
        """As for other types; not of f4e2m1fn."""
        self._computable(value, f"a reduction by {kind}")
        return super().reduce(kind, value, axis, keepdims)

    def pack(self, value: Value, dtype: DType | None = None, axis: int = -1) -> Value:
        """Bytes of two values each along the axis, the first in the low half. Floats are rounded to f4e2m1fn; integers
        give i4 and u4 their low bits."""
        into = value.dtype if dtype is None else dtype
        if into.name not in PACKED:
            raise self.error(
                "type/packed", f"{into} values are not packed", f"give one of {', '.join(PACKED)} as the type"
            )
        if not value.shape:
            raise self.error("type/packed", f"pack() takes a tile, not a {value}")
        at = self.axis(value, axis)
        if value.shape[at] % 2:
            raise self.error(
                "type/packed", f"axis {at} of a {value} has no pairs", "a byte holds two values: give an even extent"
            )
        if into.is_float != value.dtype.is_float:
            raise self.error(
                "type/packed", f"{value.dtype} values cannot be packed as {into}",
                "cast to a float for f4e2m1fn, to i8 or u8 for i4 and u4, which keep the low bits",
            )  # fmt: skip
        source = value
        if not into.is_float and value.dtype.name not in PACKED:
            source = self.cast(value, I8)
        elif into.is_float and value.dtype.name in ("f8e5m2", "f8e8m0fnu"):
            source = self.cast(value, F32)
        shape = (*value.shape[:at], value.shape[at] // 2, *value.shape[at + 1 :])
        op = self.emit(tile.Pack, [self.ssa(source)], [TensorType(U8.ir, shape)], _packing(into, at))
        return Value(U8, shape, op.results[0])

    def repeat(self, value: Value, count: int, axis: int = -1) -> Value:
        """Each element `count` times along the axis, side by side: NumPy's repeat()."""
        if not value.shape:
            raise self.error("type/operand", f"repeat() takes a tile, not a {value}", "tile.full() fills a tile")
        at = self.axis(value, axis)
        if count < 1:
            raise self.error("type/extent", f"elements are repeated at least once, not {count} times")
        if count == 1:
            return value
        before, extent, after = value.shape[:at], value.shape[at], value.shape[at + 1 :]
        shape = self.check_shape((*before, extent * count, *after))
        if extent == 1:
            return self.broadcast_to(value, shape)
        if is_power_of_two(count):
            properties: dict[str, Attribute] = {"axis": IntegerAttr(at, i64), "count": IntegerAttr(count, i64)}
            return self.emit_value(tile.Repeat, [self.ssa(value)], value.dtype, shape, properties, value.low)
        apart = self.reshape(value, (*before, extent, 1, *after))
        return self.reshape(self.broadcast_to(apart, (*before, extent, count, *after)), shape)


def _packing(dtype: DType, axis: int) -> dict[str, Attribute]:
    return {"format": StringAttr(dtype.name), "axis": IntegerAttr(axis, i64)}
