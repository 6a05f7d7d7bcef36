"""Comparison and division: // and % by Python's rule, and nothing traps on any machine."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.irdl import IRDLOperation

from tileopt.dialects.arith import RemFOp
from tileopt.frontends.builder_shape import Shapes
from tileopt.frontends.builder_values import BOOL, F32, Value

SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
# Predicates: signed, unsigned (bool), float. Comparisons with NaN are false, but for != .
PREDICATES = {
    "eq": (0, 0, 1), "ne": (1, 1, 13), "lt": (2, 6, 4), "le": (3, 7, 5), "gt": (4, 8, 2), "ge": (5, 9, 3),
}  # fmt: skip


class Division(Shapes):
    """What arithmetic stands on."""

    def _op(self, op: type[IRDLOperation], x: Value, y: Value, low: int | None = None) -> Value:
        return self.emit_value(op, [self.ssa(x), self.ssa(y)], x.dtype, x.shape, low=low)

    def _integer_division(self, kind: str, x: Value, y: Value, divisor: int | None) -> Value:
        """// and % by Python's rule. A run-time divisor of 0 gives 0, and nothing traps on any machine."""
        dtype, shape = x.dtype, x.shape

        def number(value: int) -> Value:
            return self.splat(self.constant(value, dtype), shape)

        if divisor == 0:
            raise self.error("type/division-by-zero", f"{SYMBOLS[kind]} by the constant 0")
        signed = dtype.kind == "i" and not (is_natural(x) and is_natural(y))
        div, rem = (arith.DivSIOp, arith.RemSIOp) if dtype.kind == "i" else (arith.DivUIOp, arith.RemUIOp)
        special: Value | None = None
        safe = y
        if divisor == -1:
            return self._op(arith.SubiOp, number(0), x) if kind == "floordiv" else number(0)
        if divisor is None and not (y.low is not None and y.low >= 1):
            if signed:
                # 0 and -1 at once: the least integer divided by -1 traps on some machines.
                special = self._relate("lt", self._op(arith.AddiOp, y, number(1)), number(2), unsigned=True)
            else:
                special = self._relate("eq", y, number(0))
            safe = self._choose(special, number(1), y)
        if not signed:
            low = 0 if dtype.kind == "i" else None
            if kind == "mod":
                return self._op(rem, x, safe, low)  # by 1 where y is 0: 0
            quotient = self._op(div, x, safe, low)
            return quotient if special is None else self._choose(special, number(0), quotient)
        quotient, remainder = self._op(div, x, safe), self._op(rem, x, safe)
        # The hardware truncates: where the remainder is not 0 and its sign is not the divisor's, go one down.
        if divisor is None and not is_natural(y):
            opposite = self._relate("lt", self._op(arith.XOrIOp, remainder, safe), number(0))
            wrong = self._op(arith.AndIOp, opposite, self._relate("ne", remainder, number(0)))
        else:
            wrong = self._relate("gt" if divisor is not None and divisor < 0 else "lt", remainder, number(0))
        if kind == "mod":
            low = 0 if is_natural(y) else None
            return self._choose(wrong, self._op(arith.AddiOp, remainder, safe), remainder, low)
        floor = self._choose(wrong, self._op(arith.SubiOp, quotient, number(1)), quotient)
        return floor if special is None else self._choose(special, self._op(arith.MuliOp, x, y), floor)

    def _float_division(self, kind: str, x: Value, y: Value) -> Value:
        """// and % of floats by Python's rule: the remainder has the divisor's sign, and so has one of 0.

        The remainder of the truncated quotient is exact, so both are right however large the quotient is.
        """
        if x.dtype.bits == 16:
            return self.cast(self._float_division(kind, self.cast(x, F32), self.cast(y, F32)), x.dtype)
        dtype, shape = x.dtype, x.shape

        def number(value: float) -> Value:
            return self.splat(self.constant(value, dtype), shape)

        zero = number(0.0)
        left = self._op(RemFOp, x, y)
        uneven = self._relate("ne", left, zero)
        crossed = self._op(arith.XOrIOp, self._relate("lt", left, zero), self._relate("lt", y, zero))
        wrong = self._op(arith.AndIOp, crossed, uneven)
        if kind == "mod":
            even = self._op(math.CopySignOp, zero, y)
            return self._choose(uneven, self._choose(wrong, self._op(arith.AddfOp, left, y), left), even)
        ratio = self._op(arith.DivfOp, x, y)
        quotient = self._op(arith.DivfOp, self._op(arith.SubfOp, x, left), y)
        quotient = self._choose(wrong, self._op(arith.SubfOp, quotient, number(1.0)), quotient)
        # An integer but for rounding: the nearest one.
        floor = self.emit_value(math.FloorOp, [self.ssa(quotient)], dtype, shape)
        above = self._relate("gt", self._op(arith.SubfOp, quotient, floor), number(0.5))
        floor = self._choose(above, self._op(arith.AddfOp, floor, number(1.0)), floor)
        signed = self._op(math.CopySignOp, zero, ratio)
        whole = self._choose(self._relate("eq", quotient, zero), signed, floor)
        return self._choose(self._relate("eq", y, zero), ratio, whole)

    def _relate(self, kind: str, x: Value, y: Value, unsigned: bool = False) -> Value:
        signed, natural, ordered = PREDICATES[kind]
        if x.dtype.is_float:
            op: type[IRDLOperation] = arith.CmpfOp
            predicate = ordered
        else:
            op, predicate = arith.CmpiOp, signed if x.dtype.kind == "i" and not unsigned else natural
        properties = {"predicate": IntegerAttr(predicate, i64)}
        return self.emit_value(op, [self.ssa(x), self.ssa(y)], BOOL, x.shape, properties)

    def _choose(self, test: Value, a: Value, b: Value, low: int | None = None) -> Value:
        return self.emit_value(arith.SelectOp, [self.ssa(test), self.ssa(a), self.ssa(b)], a.dtype, a.shape, low=low)


def is_natural(value: Value) -> bool:
    return value.dtype.kind in "bu" or (value.low is not None and value.low >= 0)
