"""Functions of floats, reductions, and the matrix product."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation

from tileopt.dialects import tile
from tileopt.dialects.diagnostics import TileoptError
from tileopt.dialects.dtypes import DType
from tileopt.dialects.tile import ReduceKind
from tileopt.frontends.builder_arith import Arithmetic
from tileopt.frontends.builder_values import BOOL, F32, F64, I32, Operand, Value

# Functions that round differently in a narrow type are computed in f32 and rounded once.
FUNCTIONS: dict[str, type[IRDLOperation]] = {
    "exp": math.ExpOp, "exp2": math.Exp2Op, "expm1": math.ExpM1Op, "log": math.LogOp, "log2": math.Log2Op,
    "log10": math.Log10Op, "log1p": math.Log1pOp, "sqrt": math.SqrtOp, "rsqrt": math.RsqrtOp, "sin": math.SinOp,
    "cos": math.CosOp, "tan": math.TanOp, "sinh": math.SinhOp, "cosh": math.CoshOp, "tanh": math.TanhOp,
    "asin": math.AsinOp, "acos": math.AcosOp, "atan": math.AtanOp, "erf": math.ErfOp,
    "floor": math.FloorOp, "ceil": math.CeilOp, "round": math.RoundEvenOp, "trunc": math.TruncOp,
}  # fmt: skip
_INTEGRAL = ("floor", "ceil", "round", "trunc")

# Operand type of a product: the accumulator's.
ACCUMULATORS: dict[str, DType] = {
    "f16": F32, "bf16": F32, "f32": F32, "f64": F64, "i8": I32, "u8": I32, "f8e4m3fn": F32, "f8e5m2": F32,
}  # fmt: skip


class Functions(Arithmetic):
    """Elementwise functions, reductions and products."""

    def math(self, name: str, a: Operand) -> Value:
        """One of FUNCTIONS. Integers become f32 first, but for those that leave them as they are."""
        value = self.as_value(a)
        if not value.dtype.is_float:
            if name in _INTEGRAL:
                return value
            value = self.cast(value, F32)
        if value.dtype.bits < 32:
            return self.cast(self.math(name, self.cast(value, F32)), value.dtype)
        return self.emit_value(FUNCTIONS[name], [self.ssa(value)], value.dtype, value.shape)

    def abs(self, a: Operand) -> Value:
        """|a|; the least integer of a signed type stays itself."""
        value = self.as_value(a)
        if value.dtype.is_float:
            if value.dtype.bits == 8:
                return self.cast(self.abs(self.cast(value, F32)), value.dtype)
            return self.emit_value(math.AbsFOp, [self.ssa(value)], value.dtype, value.shape)
        if value.dtype.kind != "i":
            return value
        return self.maximum(value, self.negate(value))

    def sigmoid(self, a: Operand) -> Value:
        """1 / (1 + exp(-a))"""
        value = self.as_value(a)
        wide = self.cast(value, F32) if value.dtype.bits < 32 or not value.dtype.is_float else value
        result = self.binary("div", 1.0, self.binary("add", 1.0, self.math("exp", self.negate(wide))))
        return self.cast(result, value.dtype) if value.dtype.is_float else result

    def atan2(self, a: Operand, b: Operand) -> Value:
        """The angle of the point (b, a)."""
        dtype = self.common_dtype([a, b], "atan2")
        wide = dtype if dtype.is_float and dtype.bits >= 32 else F32
        x, y = self.meet([a, b], "atan2", wide)
        result = self.emit_value(math.Atan2Op, [self.ssa(x), self.ssa(y)], wide, x.shape)
        return self.cast(result, dtype) if dtype.is_float else result

    def fma(self, a: Operand, b: Operand, c: Operand) -> Value:
        """a * b + c, rounded once. Of integers the same without rounding."""
        dtype = self.common_dtype([a, b, c], "fma")
        if not dtype.is_float:
            return self.binary("add", self.binary("mul", a, b), c)
        if dtype.bits < 32:
            wide = self.fma(*(self.in_dtype(self.in_dtype(v, dtype), F32) for v in (a, b, c)))
            return self.cast(wide, dtype)
        values = self.meet([a, b, c], "fma", dtype)
        return self.emit_value(math.FmaOp, [self.ssa(v) for v in values], dtype, values[0].shape)

    # Reductions

    def reduce(self, kind: str, value: Value, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value:
        """sum, prod, max, min, and, or, xor along one axis, several, or all (which gives a scalar).

        Sums and products of f16, bf16 and f8 accumulate in f32 and are rounded once; those of bool and of 8 and 16
        bit integers are i32. max and min give NaN if an element is NaN. `and` and `or` of other types than bool ask
        whether elements are 0.
        """
        axes = range(len(value.shape)) if axis is None else [axis] if isinstance(axis, int) else axis
        chosen = sorted({self.axis(value, a) for a in axes})
        source, dtype = value, value.dtype
        if kind in ("sum", "prod"):
            if dtype.is_float and dtype.bits < 32:
                source = self.cast(value, F32)
            elif not dtype.is_float and (dtype.kind == "b" or dtype.bits < 32):
                source, dtype = self.cast(value, I32), I32
        elif kind in ("and", "or"):
            source, dtype = self.cast(value, BOOL), BOOL
        elif kind in ("max", "min") and dtype.is_float and dtype.bits == 8:
            source = self.cast(value, F32)
        elif dtype.is_float and kind == "xor":
            raise self.error("type/operand", "an xor reduction works on integers and bools, not on floats")
        op_kind = kind
        if kind in ("max", "min") and dtype.kind in "bu":
            op_kind = f"u{kind}"
        result = source
        for a in reversed(chosen):
            shape = result.shape[:a] + result.shape[a + 1 :]
            properties: dict[str, Attribute] = {
                "kind": StringAttr(ReduceKind(op_kind).value),
                "axis": IntegerAttr(a, i64),
            }
            result = self._reduce_axis(result, shape, properties)
        result = self.cast(result, dtype)
        if keepdims:
            kept = tuple(1 if a in chosen else n for a, n in enumerate(value.shape))
            return self.reshape(result, kept)
        return result

    def _reduce_axis(self, value: Value, shape: tuple[int, ...], properties: dict[str, Attribute]) -> Value:
        if shape:
            return self.emit_value(tile.Reduce, [self.ssa(value)], value.dtype, shape, properties)
        op = self.emit(tile.Reduce, [self.ssa(value)], [TensorType(value.dtype.ir, [])], properties)
        return self.emit_value(tile.ToScalar, [op.results[0]], value.dtype)

    # The matrix product

    def mma(self, a: Value, b: Value, acc: Value | None = None, precision: str | None = None) -> Value:
        """acc + a @ b for a: (M, K), b: (K, N), acc: (M, N); products and sums in the accumulator's type. `precision`:
        "tf32" lets products of f32 read their operands as that."""
        for value, name in ((a, "a"), (b, "b")):
            if value.dtype.name not in ACCUMULATORS:
                raise self.error(
                    "type/mma-operand",
                    f"a product of {value.dtype} tiles ('{name}') is not supported",
                    f"operands are tiles of {', '.join(ACCUMULATORS)}: cast with .astype(...)",
                )
            if len(value.shape) != 2:
                raise self.error("type/shape", f"'{name}' of a product has rank 2, not a {value}")
        if a.dtype != b.dtype:
            raise self.unlike(a.dtype, b.dtype)
        if precision is not None and (precision != "tf32" or a.dtype != F32):
            raise self.error(
                "type/mma-precision", f"no product of {a.dtype} tiles has the precision {precision!r}",
                'precision="tf32" is for products of f32',
            )  # fmt: skip
        if a.shape[1] != b.shape[0]:
            raise self.error("type/shape", f"a product of {a.shape} and {b.shape}: the inner extents differ")
        wanted, shape = ACCUMULATORS[a.dtype.name], (a.shape[0], b.shape[1])
        if acc is None:
            acc = self.splat(self.constant(0.0 if wanted.is_float else 0, wanted), shape)
        if acc.dtype != wanted:
            raise self.error(
                "type/mma-accumulator", f"a product of {a.dtype} tiles accumulates in {wanted}, not in {acc.dtype}",
                f"make the accumulator with tile.zeros({shape}, tile.{wanted}) and cast the result",
            )  # fmt: skip
        if acc.shape != shape:
            raise self.error("type/shape", f"the product's shape is {shape}, the accumulator's {acc.shape}")
        properties: dict[str, Attribute] = {} if precision is None else {"precision": StringAttr(precision)}
        if a.dtype.kind == "u":
            properties["unsigned"] = UnitAttr()
        return self.emit_value(tile.Mma, [self.ssa(a), self.ssa(b), self.ssa(acc)], wanted, shape, properties)

    def unlike(self, a: DType, b: DType) -> TileoptError:
        """The error of a product of operands of two types."""
        what = f"the operands of a product have one type, not {a} and {b}"
        return self.error("type/mma-operand", what, _how_to_meet(a, b))

    def matmul(self, a: Value, b: Value) -> Value:
        """a @ b in the operands' own type (integers: i32), accumulated as in `mma`."""
        result = self.mma(a, b)
        return self.cast(result, a.dtype) if a.dtype.is_float else result


def _how_to_meet(a: DType, b: DType) -> str:
    """Which operand of a product to cast, and to what, so that no value is lost where one type can hold the other's."""
    if a.bits == b.bits == 16:
        return f"cast one of them, for example b.astype(tile.{a})"  # f16 and bf16: either loses something
    lossy = (("i", "u8"), ("i", "f8e5m2"), ("u", "f8e5m2"))
    for name, narrow, wide in (("a", a, b), ("b", b, a)):
        holds = narrow.bits < wide.bits and narrow.is_float <= wide.is_float and (narrow.kind, wide.name) not in lossy
        if holds or (wide.is_float and wide.bits > 8 and not narrow.is_float):
            return f"cast '{name}' to the other's type: {name}.astype(tile.{wide})"
    return "cast both to a type that holds the values of either: .astype(tile.f16)"
