"""What a builder computes with: typed values, arrays, and the rules by which element types meet.

Python's numbers are weak: beside a value they take its type, alone they are i64, f32 or bool.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field
from functools import lru_cache

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue

from tileopt.dialects.contracts import ParamKind
from tileopt.dialects.diagnostics import shortened
from tileopt.dialects.dtypes import DTYPES, DType

Weak = bool | int | float

BOOL, I32, I64 = DTYPES["bool"], DTYPES["i32"], DTYPES["i64"]
F16, BF16, F32, F64 = DTYPES["f16"], DTYPES["bf16"], DTYPES["f32"], DTYPES["f64"]


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A scalar (shape `()`) or a tile.

    `const`: the number, where it is known; a known scalar becomes an op only where one needs it, and until then `ssa`
    is None. `low`: an integer that is not greater than the value, where one is known.
    """

    dtype: DType
    shape: tuple[int, ...] = ()
    ssa: SSAValue | None = None
    const: Weak | None = None
    low: int | None = None

    @property
    def is_scalar(self) -> bool:
        return not self.shape

    def __str__(self) -> str:
        return describe(self.dtype, self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """An array parameter. `unchecked`: its ownership is not verified where it is reached by this."""

    name: str
    dtype: DType
    rank: int
    kind: ParamKind
    ssa: SSAValue
    unchecked: bool = field(default=False, kw_only=True)

    def __str__(self) -> str:
        return f"a {self.dtype} array of rank {self.rank}"


Operand = Value | Weak


def describe(dtype: DType, shape: tuple[int, ...]) -> str:
    """How a message names a type: `f32 scalar`, `f32 tile of (128, 64)`."""
    return f"{dtype} tile of {shape}" if shape else f"{dtype} scalar"


def readable(text: str) -> str:
    """A message with the right articles ("an i64 scalar", "an int"), and the ends of integers that are long."""
    text = re.sub(r"\b([Aa]) (?=[if]\d|int\b)", r"\1n ", text)
    return shortened(text)


@lru_cache(maxsize=1024)
def ir_type(dtype: DType, shape: tuple[int, ...]) -> Attribute:
    """The IR's type of a scalar or tile."""
    return TensorType(dtype.ir, shape) if shape else dtype.ir


def default_dtype(value: Weak) -> DType:
    """The type of a Python number that meets no typed value."""
    if isinstance(value, bool):
        return BOOL
    return I64 if isinstance(value, int) else F32


def promote(a: DType, b: DType) -> DType | None:
    """The type in which values of two types meet, or None where neither holds the other's values by a plain rule.

    As NumPy's, except that an integer beside a float takes the float's type whatever its width.
    """
    if a == b:
        return a
    if a.kind == "b":
        return b
    if b.kind == "b":
        return a
    if a.is_float and b.is_float:
        if a.bits != b.bits:
            return a if a.bits > b.bits else b
        return F32 if a.bits == 16 else None
    if a.is_float or b.is_float:
        return a if a.is_float else b
    if a.kind == b.kind:
        return a if a.bits > b.bits else b
    signed, unsigned = (a, b) if a.kind == "i" else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    return DTYPES.get(f"i{2 * unsigned.bits}")


def integer_range(dtype: DType) -> tuple[int, int]:
    """Least and greatest value of an integer type or bool."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind == "u":
        return 0, (1 << dtype.bits) - 1
    return -(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1


def wrap(value: int, dtype: DType) -> int:
    """`value` modulo 2^bits, as the type reads it."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind == "i" and value >> dtype.bits - 1 else value


def round_to(value: float, dtype: DType) -> float:
    """The nearest number of a float type, ties to even; infinity where the type has none so large."""
    if dtype.bits == 64 or math.isinf(value) or math.isnan(value):
        return value
    if dtype.name in ("f32", "f16"):
        try:
            code = "<f" if dtype.name == "f32" else "<e"
            (rounded,) = struct.unpack(code, struct.pack(code, value))
            return float(rounded)
        except OverflowError:
            return math.copysign(math.inf, value)
    return _round_by_bits(value, *_SHAPES[dtype.name])


# Bits of the significand, least exponent of a normal number, greatest finite number.
_SHAPES = {
    "bf16": (8, -126, float.fromhex("0x1.fep127")),
    "f8e4m3fn": (4, -6, 448.0),
    "f8e5m2": (3, -14, 57344.0),
    "f8e8m0fnu": (1, -127, 2.0**127),
}


def _round_by_bits(value: float, significand: int, least: int, greatest: float) -> float:
    if value == 0.0:
        return value
    exponent = max(math.frexp(value)[1] - 1, least)
    unit = math.ldexp(1.0, exponent - significand + 1)
    rounded = round(value / unit) * unit  # Python rounds ties to even; scaling by a power of two is exact
    if abs(rounded) > greatest:
        return math.copysign(math.inf, value)
    return math.copysign(rounded, value)


def fit(value: Weak, dtype: DType) -> Weak | None:
    """The Python number as a number of the type, or None where the type cannot hold it.

    Integers must be exact; a finite number that would become infinite does not fit, nor does a fraction in an integer.
    """
    if dtype.is_float:
        try:
            wide = float(value)
        except OverflowError:
            return None
        if dtype.name in ("f8e4m3fn", "f8e8m0fnu") and math.isinf(wide):
            return None
        if dtype.name == "f8e8m0fnu" and wide < 0.0:
            return None
        rounded = round_to(wide, dtype)
        return None if math.isinf(rounded) and not math.isinf(wide) else rounded
    if isinstance(value, float):
        if not value.is_integer():
            return None
        value = int(value)
    low, high = integer_range(dtype)
    if not low <= value <= high:
        return None
    return bool(value) if dtype.kind == "b" else int(value)


def constant_attr(value: Weak, dtype: DType) -> IntegerAttr | FloatAttr:
    """The attribute of a number that fits its type. The IR's integers are signless: i8 and u8 share bits."""
    type_ = dtype.ir
    if not isinstance(type_, IntegerType):
        return FloatAttr(float(value), type_)
    if dtype.kind == "b":
        return IntegerAttr(1 if value else 0, type_)
    return IntegerAttr(wrap(int(value), DTYPES[f"i{dtype.bits}"]), type_)
