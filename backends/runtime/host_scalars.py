"""Scalar arithmetic of host programs: arith ops on Python's numbers, integers kept in two's complement of their width.

A division by 0 gives 0, as in kernels. f32 results are rounded to f32.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation

from tileopt.dialects.diagnostics import UnsupportedError, location_of


def evaluate(op: Operation, operands: list[Any]) -> Any:
    """The result of one op. Raises UnsupportedError (`stream/host-op`) for what is no scalar arithmetic."""
    type_ = op.results[0].type if op.results else None
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr | FloatAttr):
        return _fit(op.value.value.data, op.value.type)
    if isinstance(op, arith.SelectOp):
        return operands[1] if operands[0] else operands[2]
    if isinstance(op, arith.CmpiOp):
        a, b = operands
        if op.predicate.value.data >= 6:
            a, b = (_unsigned(v, op.lhs.type) for v in (a, b))
        return int(_COMPARISONS[op.predicate.value.data](a, b))
    known = _OPS.get(op.name)
    if known is None or type_ is None:
        raise UnsupportedError(
            "stream/host-op",
            f"a host program that runs cannot use '{op.name}'",
            location=location_of(op),
            help="compute it with arith on scalars, or in a kernel",
        )
    function, unsigned = known
    if unsigned:
        operands = [_unsigned(v, o.type) for v, o in zip(operands, op.operands, strict=True)]
    return _fit(function(*operands), type_)


def _width(type_: Attribute) -> int:
    return type_.width.data if isinstance(type_, IntegerType) else 64


def _unsigned(value: int, type_: Attribute) -> int:
    return value & ((1 << _width(type_)) - 1)


def _fit(value: Any, type_: Attribute) -> Any:
    if isinstance(type_, IntegerType | IndexType):
        width = _width(type_)
        value = int(value) & ((1 << width) - 1)
        return value if width == 1 or value < 1 << (width - 1) else value - (1 << width)
    if isinstance(type_, Float32Type) and math.isfinite(value):
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)
    return float(value)


def _towards_zero(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return 0 if b == 0 else a - b * _towards_zero(a, b)


def _shift(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: function(a, b) if 0 <= b < 64 else 0


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


_COMPARISONS = (
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip
# Each op's function, and whether it looks at its operands as unsigned.
_OPS: dict[str, tuple[Callable[..., Any], bool]] = {
    "arith.addi": (operator.add, False),
    "arith.subi": (operator.sub, False),
    "arith.muli": (operator.mul, False),
    "arith.divsi": (_towards_zero, False),
    "arith.remsi": (_remainder, False),
    "arith.floordivsi": (lambda a, b: a // b if b else 0, False),
    "arith.ceildivsi": (lambda a, b: -(-a // b) if b else 0, False),
    "arith.divui": (_towards_zero, True),
    "arith.remui": (_remainder, True),
    "arith.ceildivui": (lambda a, b: -(-a // b) if b else 0, True),
    "arith.minsi": (min, False),
    "arith.maxsi": (max, False),
    "arith.minui": (min, True),
    "arith.maxui": (max, True),
    "arith.andi": (operator.and_, False),
    "arith.ori": (operator.or_, False),
    "arith.xori": (operator.xor, False),
    "arith.shli": (_shift(operator.lshift), True),
    "arith.shrui": (_shift(operator.rshift), True),
    "arith.shrsi": (lambda a, b: a >> b if 0 <= b < 64 else 0, False),
    "arith.index_cast": (int, False),
    "arith.extsi": (int, False),
    "arith.extui": (int, True),
    "arith.trunci": (int, False),
    "arith.sitofp": (float, False),
    "arith.uitofp": (float, True),
    "arith.fptosi": (math.trunc, False),
    "arith.extf": (float, False),
    "arith.truncf": (float, False),
    "arith.addf": (operator.add, False),
    "arith.subf": (operator.sub, False),
    "arith.mulf": (operator.mul, False),
    "arith.divf": (_quotient, False),
    "arith.negf": (operator.neg, False),
}
