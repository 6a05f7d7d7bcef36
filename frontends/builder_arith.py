"""Arithmetic: operators with NumPy's broadcasting and Python's meaning, folded where both sides are known."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith, math
from xdsl.irdl import IRDLOperation

from tileopt.dialects.diagnostics import shown
from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder_division import SYMBOLS, Division, is_natural
from tileopt.frontends.builder_values import BOOL, F32, Operand, Value, Weak, wrap

# Operator: the op on integers and on floats.
_PLAIN: dict[str, tuple[type[IRDLOperation], type[IRDLOperation]]] = {
    "add": (arith.AddiOp, arith.AddfOp),
    "sub": (arith.SubiOp, arith.SubfOp),
    "mul": (arith.MuliOp, arith.MulfOp),
}
_BITWISE: dict[str, type[IRDLOperation]] = {"and": arith.AndIOp, "or": arith.OrIOp, "xor": arith.XOrIOp}
_EXACT: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "mod": operator.mod, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "min": min, "max": max,
}  # fmt: skip
# The operators on Python's own numbers.
FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "matmul": operator.matmul,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_RELATIONS: dict[str, Callable[[Weak, Weak], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_EXTREMA: dict[str, tuple[type[IRDLOperation], type[IRDLOperation], type[IRDLOperation]]] = {
    "max": (arith.MaxSIOp, arith.MaxUIOp, arith.MaximumfOp),
    "min": (arith.MinSIOp, arith.MinUIOp, arith.MinimumfOp),
}


class Arithmetic(Division):
    """Operators on scalars and tiles."""

    def binary(self, kind: str, a: Operand, b: Operand) -> Value:
        """One of the operators in `SYMBOLS`, or "min" and "max" (which give NaN if an operand is NaN)."""
        if kind in _RELATIONS:
            return self.compare(kind, a, b)
        if kind in ("shl", "shr"):
            return self._shift(kind, a, b)
        what = f"'{SYMBOLS.get(kind, kind)}'"
        dtype = self.common_dtype([a, b], what)
        if kind in _BITWISE:
            if dtype.is_float:
                raise self.error(
                    "type/operand",
                    f"{what} works on the bits of integers and bools, not on {dtype}",
                    "cast to an integer first, or write `and`, `or` for conditions",
                )
        elif dtype.kind == "b" and kind not in ("min", "max"):
            dtype = self.count_dtype([self.as_value(v) for v in (a, b)])
        if kind == "div" and not dtype.is_float:
            dtype = F32
        if kind == "pow":
            return self._power(a, b, dtype)
        if dtype.is_float and dtype.bits == 8:
            # No machine computes in 8 bits: f32 does, exactly enough, and the result rounds once.
            return self.cast(self.binary(kind, *(self.in_dtype(v, F32) for v in self._narrow(a, b, dtype))), dtype)
        return self._combine(kind, a, b, dtype)

    def _narrow(self, a: Operand, b: Operand, dtype: DType) -> list[Value]:
        return [self.in_dtype(v, dtype) for v in (a, b)]

    def _combine(self, kind: str, a: Operand, b: Operand, dtype: DType) -> Value:
        known = [v.const if isinstance(v, Value) else v for v in (a, b)]
        if not dtype.is_float:
            folded = self._fold(kind, a, b, known[0], known[1], dtype)
            if folded is not None:
                return folded
        x, y = self.meet([a, b], kind, dtype)
        if kind in _PLAIN:
            op = _PLAIN[kind][dtype.is_float]
            return self._op(op, x, y, _low(kind, x, y))
        if kind in _BITWISE:
            low = 0 if kind == "and" and (is_natural(x) or is_natural(y)) else None
            return self._op(_BITWISE[kind], x, y, low)
        if kind in _EXTREMA:
            index = 2 if dtype.is_float else 0 if dtype.kind == "i" else 1
            return self._op(_EXTREMA[kind][index], x, y, _extreme_low(kind, x, y))
        if kind == "div":
            return self._op(arith.DivfOp, x, y)
        if dtype.is_float:
            return self._float_division(kind, x, y)
        divisor = known[1]
        return self._integer_division(kind, x, y, None if divisor is None else int(divisor))

    def _fold(self, kind: str, a: Operand, b: Operand, x: Weak | None, y: Weak | None, dtype: DType) -> Value | None:
        """The result where both integers are known, or where one of them changes nothing."""
        if x is not None and y is not None and kind in _EXACT:
            if kind in ("floordiv", "mod") and not y:
                raise self.error("type/division-by-zero", f"{SYMBOLS[kind]} by the constant 0")
            fits = [self.in_dtype(v, dtype).const for v in (a, b)]
            result = wrap(_EXACT[kind](int(fits[0] or 0), int(fits[1] or 0)), dtype)
            return self.constant(bool(result) if dtype.kind == "b" else result, dtype)
        same: Operand | None = None
        if y == 0 and kind in ("add", "sub", "or", "xor") or y == 1 and kind in ("mul", "floordiv"):
            same = a
        elif x == 0 and kind in ("add", "or", "xor") or x == 1 and kind == "mul":
            same = b
        return self.in_dtype(same, dtype) if isinstance(same, Value) else None

    def compare(self, kind: str, a: Operand, b: Operand) -> Value:
        """==, !=, <, <=, >, >= as bools. With NaN all are false but !=."""
        known = [v.const if isinstance(v, Value) else v for v in (a, b)]
        dtype = self.common_dtype([a, b], f"'{SYMBOLS[kind]}'")
        if known[0] is not None and known[1] is not None:
            x, y = (self.in_dtype(v, dtype).const for v in (a, b))
            if x is not None and y is not None:
                return self.constant(_RELATIONS[kind](x, y), BOOL)
        operands: list[Operand] = [a, b]
        if dtype.is_float and dtype.bits == 8:
            operands = [self.cast(v, F32) for v in self._narrow(a, b, dtype)]
            dtype = F32
        left, right = self.meet(operands, kind, dtype)
        return self._relate(kind, left, right)

    def _shift(self, kind: str, a: Operand, b: Operand) -> Value:
        """<< and >>. By the width or more: 0, or -1 for a negative number shifted right."""
        what = f"'{SYMBOLS[kind]}'"
        dtype = self.common_dtype([a], what)
        if dtype.kind == "b":
            dtype = self.count_dtype([self.as_value(a)])
        if dtype.is_float or self.common_dtype([b], what).is_float:
            raise self.error("type/operand", f"{what} shifts integers by integers")
        amount = b.const if isinstance(b, Value) else b
        if amount is not None:
            if amount < 0:
                raise self.error("type/shift", f"a shift by {shown(amount)}")
            value = a.const if isinstance(a, Value) else a
            if value is not None and amount < 4096:
                exact = int(value) << int(amount) if kind == "shl" else int(value) >> int(amount)
                return self.constant(wrap(exact, dtype), dtype)
        x, y = self.meet([a, self.in_dtype(b, dtype)], kind, dtype)
        width = self.splat(self.constant(dtype.bits - 1, dtype), x.shape)
        if kind == "shr" and dtype.kind == "i":
            return self._op(arith.ShRSIOp, x, self._op(arith.MinUIOp, y, width), 0 if is_natural(x) else None)
        shifted = self._op(arith.ShLIOp if kind == "shl" else arith.ShRUIOp, x, self._op(arith.MinUIOp, y, width))
        if amount is not None and amount < dtype.bits:
            return shifted
        zero = self.splat(self.constant(0, dtype), x.shape)
        return self._choose(self._relate("gt", y, width, unsigned=True), zero, shifted)

    def _power(self, a: Operand, b: Operand, dtype: DType) -> Value:
        exponent = b.const if isinstance(b, Value) else b
        if isinstance(exponent, int) and 0 <= exponent <= (64 if not dtype.is_float else 4):
            base = self.in_dtype(a, dtype)
            if exponent == 0:
                return self.broadcast_to(self.constant(1, dtype), base.shape)
            result: Value | None = None
            while exponent:
                if exponent & 1:
                    result = base if result is None else self.binary("mul", result, base)
                exponent >>= 1
                base = self.binary("mul", base, base) if exponent else base
            assert result is not None
            return result
        if not dtype.is_float:
            raise self.error(
                "type/operand",
                "** of integers needs a constant exponent from 0 to 64",
                "cast the base to a float, for example x.astype(tile.f32) ** n",
            )
        if dtype.bits < 32:
            return self.cast(self._power(self.in_dtype(self.in_dtype(a, dtype), F32), b, F32), dtype)
        x, y = self.meet([a, b], "**", dtype)
        return self.emit_value(math.PowFOp, [self.ssa(x), self.ssa(y)], dtype, x.shape)

    def negate(self, a: Operand) -> Value:
        """-a; unsigned integers wrap."""
        value = self.as_value(a)
        if value.dtype.is_float:
            if value.const is not None:
                return self.constant(-value.const, value.dtype)
            if value.dtype.bits == 8:
                return self.cast(self.negate(self.cast(value, F32)), value.dtype)
            return self.emit_value(arith.NegfOp, [self.ssa(value)], value.dtype, value.shape)
        return self.binary("sub", 0, value)

    def invert(self, a: Operand) -> Value:
        """~a: the other bits of an integer, the opposite of a bool."""
        value = self.as_value(a)
        if value.dtype.is_float:
            raise self.error("type/operand", "'~' works on integers and bools, not on floats")
        if value.dtype.kind == "b":
            return self.binary("xor", value, True)
        ones = -1 if value.dtype.kind == "i" else (1 << value.dtype.bits) - 1
        return self.binary("xor", value, ones)

    def logical_not(self, a: Operand) -> Value:
        """True where a is 0."""
        return self.invert(self.cast(a, BOOL))

    def minimum(self, a: Operand, b: Operand) -> Value:
        return self.binary("min", a, b)

    def maximum(self, a: Operand, b: Operand) -> Value:
        return self.binary("max", a, b)

    def cdiv(self, a: Operand, b: Operand) -> Value:
        """a / b rounded up, by Python's rule for negative numbers: cdiv(-36, 5) is -7."""
        for value in (a, b):
            if self.common_dtype([value], "cdiv").kind not in "iu":
                raise self.error("type/operand", "cdiv() divides integers")
        divisor = b.const if isinstance(b, Value) else b
        if divisor == 0:
            raise self.error("type/division-by-zero", "cdiv() by the constant 0")
        natural = isinstance(a, Value) and a.low is not None and a.low >= 0
        if divisor is not None and int(divisor) > 0 and natural:
            return self.binary("floordiv", self.binary("add", a, int(divisor) - 1), b)
        if self.common_dtype([a, b], "cdiv").kind == "u":
            # Unsigned numbers have no negative: one more where something is left.
            left = self.compare("ne", self.binary("mod", a, b), 0)
            return self.binary("add", self.binary("floordiv", a, b), left)
        return self.negate(self.binary("floordiv", self.negate(a), b))


def _low(kind: str, x: Value, y: Value) -> int | None:
    """A lower bound of a result that is assumed not to wrap: only 64-bit integers are."""
    if x.dtype.name != "i64" or x.low is None or y.low is None:
        return None
    if kind == "add":
        return x.low + y.low
    return x.low * y.low if kind == "mul" and x.low >= 0 and y.low >= 0 else None


def _extreme_low(kind: str, x: Value, y: Value) -> int | None:
    lows = [v.low for v in (x, y) if v.low is not None]
    if kind == "max":
        return max(lows, default=None)
    return min(lows) if len(lows) == 2 else None
