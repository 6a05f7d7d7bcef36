"""LLVM spellings of types and constants, cached."""

from __future__ import annotations

import struct
from functools import lru_cache

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute

from tileopt.dialects.dtypes import element_type

# 8-bit floats have no LLVM type: their bits travel as i8.
_FLOATS: dict[type[Attribute], str] = {
    Float16Type: "half",
    BFloat16Type: "bfloat",
    Float32Type: "float",
    Float64Type: "double",
    Float8E4M3FNType: "i8",
    Float8E5M2Type: "i8",
    Float8E8M0FNUType: "i8",
}
SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


@lru_cache(maxsize=256)
def llvm_type(type_: Attribute) -> str:
    """The LLVM type that one element of `type_` has in registers. Raises KeyError where there is none."""
    element = element_type(type_)
    if isinstance(element, IntegerType):
        return f"i{element.width.data}"
    if isinstance(element, IndexType):
        return "i64"
    return _FLOATS[type(element)]


def memory_type(element: str) -> str:
    """The LLVM type that an element has in memory: a bool takes a byte."""
    return "i8" if element == "i1" else element


def bytes_of(element: str) -> int:
    """Bytes that an element takes in memory."""
    return max(8, BITS[element]) // 8


@lru_cache(maxsize=512)
def vector(width: int, element: str) -> str:
    """`<width x element>`, or the element itself for a width of 1."""
    return element if width == 1 else f"<{width} x {element}>"


def mangled(width: int, element: str) -> str:
    """The type as an overloaded intrinsic's name has it: `f32`, `v8f32`, `i64`."""
    name = SUFFIX.get(element, element)
    return name if width == 1 else f"v{width}{name}"


def is_float(element: str) -> bool:
    return element in SUFFIX


def float_bits(value: float, type_: Attribute) -> int:
    """The bits of `value` in a float type, rounded to nearest even (too large a value becomes infinity or NaN)."""
    from tileopt.dialects.dtypes import DTYPES

    name = next(name for name, d in DTYPES.items() if d.ir == type_)
    if name == "f64":
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    if name == "f32":
        return int(struct.unpack("<I", struct.pack("<f", _finite(value, 3.4028235677973366e38)))[0])
    if name == "f16":
        return int(struct.unpack("<H", struct.pack("<e", _finite(value, 65520.0)))[0])
    if name == "f8e8m0fnu" and value == 0.0:
        return 0  # the least, as all that is below it; NumPy's cast gives NaN
    import numpy as np

    dtype = DTYPES[name].numpy
    return int(np.array(value, dtype=np.float64).astype(dtype).view(f"u{dtype.itemsize}"))


def _finite(value: float, limit: float) -> float:
    # struct refuses what rounds to infinity.
    return value if not abs(value) >= limit else (float("inf") if value > 0 else float("-inf"))


@lru_cache(maxsize=1024)
def _float_constant(bits: int, element: str) -> str:
    if element == "half":
        return f"0xH{bits:04X}"
    if element == "bfloat":
        return f"0xR{bits:04X}"
    if element == "float":
        # LLVM writes a float as the double of the same value.
        sign, exponent, mantissa = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
        if exponent == 0xFF:
            return f"0x{sign << 63 | 0x7FF << 52 | mantissa << 29:016X}"
        (value,) = struct.unpack("<f", struct.pack("<I", bits))
        (wide,) = struct.unpack("<Q", struct.pack("<d", value))
        return f"0x{wide:016X}"
    if element == "double":
        return f"0x{bits:016X}"
    return str(bits)


def float_constant(value: float, type_: Attribute) -> str:
    """The LLVM text of a float constant of the IR type `type_`."""
    return _float_constant(float_bits(value, type_), llvm_type(type_))


def f32(value: float) -> str:
    """The LLVM text of a float constant."""
    return _float_constant(float_bits(value, Float32Type()), "float")


def constant_text(value: float | int, type_: Attribute) -> str:
    """The LLVM text of a constant of element type `type_`."""
    element = element_type(type_)
    if isinstance(element, IntegerType):
        if element.width.data == 1:
            return "true" if value else "false"
        return str(int(value))
    if isinstance(element, IndexType):
        return str(int(value))
    return float_constant(float(value), element)


def splat(width: int, element: str, constant: str) -> str:
    """A constant vector of one value; the constant itself for a width of 1."""
    return constant if width == 1 else f"splat ({element} {constant})"


def vector_constant(element: str, constants: list[str]) -> str:
    """A constant vector of these elements; a scalar for one."""
    if len(constants) == 1:
        return constants[0]
    if all(c == constants[0] for c in constants):
        return splat(len(constants), element, constants[0])
    return "<" + ", ".join(f"{element} {c}" for c in constants) + ">"
