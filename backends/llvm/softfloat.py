"""Float conversions in integer arithmetic, exact and rounded once to nearest even, as LLVM helper functions on chunks.

For targets, and for pairs of types, whose hardware has no such conversion or one that treats denormals or large values
otherwise. Too large a value gives infinity, or NaN in f8e4m3fn and f8e8m0fnu. f64 goes through f32 rounded to odd,
which no later rounding can tell from the exact value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
)
from xdsl.ir import Attribute

from tileopt.backends.llvm import types
from tileopt.backends.llvm.body import Body
from tileopt.backends.llvm.emitter import Emitter

_NAMES: dict[type[Attribute], str] = {
    Float16Type: "f16",
    BFloat16Type: "bf16",
    Float32Type: "f32",
    Float64Type: "f64",
    Float8E4M3FNType: "f8e4m3fn",
    Float8E5M2Type: "f8e5m2",
    Float8E8M0FNUType: "f8e8m0fnu",
}
_TYPES = {name: kind() for kind, name in _NAMES.items()}


def extend(emitter: Emitter, value: str, width: int, source: Attribute, result: Attribute) -> str:
    """One chunk from a float type to a wider one; exact."""
    from_, to = _NAMES[type(source)], _NAMES[type(result)]
    if from_ in ("f16", "f32"):
        return _cast(emitter, "fpext", value, width, types.llvm_type(source), types.llvm_type(result))
    if (from_, to) in _CONVERSIONS:
        return _call(emitter, from_, to, value, width)
    wide = _call(emitter, from_, "f32", value, width)
    word = "fpext" if to == "f64" else "fptrunc"
    if to == "bf16":
        return _call(emitter, "f32", "bf16", wide, width)
    return _cast(emitter, word, wide, width, "float", types.llvm_type(result))


def truncate(emitter: Emitter, value: str, width: int, source: Attribute, result: Attribute) -> str:
    """One chunk from a float type to a narrower one, to nearest even."""
    from_, to = _NAMES[type(source)], _NAMES[type(result)]
    if from_ == "f64" and to == "f32":
        return _cast(emitter, "fptrunc", value, width, "double", "float")
    if from_ == "f64":
        value = _call(emitter, "f64", "odd", value, width)
    elif from_ != "f32":
        value = extend(emitter, value, width, source, Float32Type())
    if to == "f16":
        return _cast(emitter, "fptrunc", value, width, "float", "half")
    return _call(emitter, "f32", to, value, width)


def to_f4(emitter: Emitter, value: str, width: int, source: Attribute) -> str:
    """The codes of f4e2m1fn, in bytes, of one chunk of a float type."""
    from_ = _NAMES[type(source)]
    if from_ == "f64":
        value = _call(emitter, "f64", "odd", value, width)
    elif from_ != "f32":
        value = extend(emitter, value, width, source, Float32Type())
    return _call(emitter, "f32", "f4e2m1fn", value, width)


def _cast(emitter: Emitter, word: str, value: str, width: int, source: str, result: str) -> str:
    return emitter.assign(f"{word} {types.vector(width, source)} {value} to {types.vector(width, result)}")


def _llvm(name: str) -> str:
    if name == "f4e2m1fn":
        return "i8"
    return "float" if name == "odd" else types.llvm_type(_TYPES[name])


def _call(emitter: Emitter, source: str, result: str, value: str, width: int) -> str:
    from_, to = types.vector(width, _llvm(source)), types.vector(width, _llvm(result))

    def make() -> str:
        body = Body(width, emitter.output)
        return body.function(name, _llvm(result), [(_llvm(source), "%x")], _CONVERSIONS[source, result](body, "%x"))

    name = f"tile.{source}_to_{result}.{width}"
    return emitter.assign(f"call {to} {emitter.output.helper(name, make)}({from_} {value})")


_Conversion: TypeAlias = Callable[[Body, str], str]


def _bf16_to_f32(body: Body, x: str) -> str:
    bits = body.cast("zext", body.cast("bitcast", x, "bfloat", "i16"), "i16", "i32")
    return body.cast("bitcast", body.op("shl", "i32", bits, 16), "i32", "float")


def _f32_to_bf16(body: Body, x: str) -> str:
    bits = body.cast("bitcast", x, "float", "i32")
    high = body.op("lshr", "i32", bits, 16)
    odd = body.op("and", "i32", high, 1)
    rounded = body.op("add", "i32", body.op("add", "i32", bits, 0x7FFF), odd)
    nan = body.assign(f"fcmp uno {body.type('float')} {x}, {x}")
    quiet = body.op("or", "i32", high, 0x40)
    out = body.select(nan, "i32", quiet, body.op("lshr", "i32", rounded, 16))
    return body.cast("bitcast", body.cast("trunc", out, "i32", "i16"), "i16", "bfloat")


def _e5m2_to_f32(body: Body, x: str) -> str:
    # The high byte of an f16.
    half = body.op("shl", "i16", body.cast("zext", x, "i8", "i16"), 8)
    return body.cast("fpext", body.cast("bitcast", half, "i16", "half"), "half", "float")


def _e4m3_to_f32(body: Body, x: str) -> str:
    # As an f16 of the same fields, 2**-8 of the value: exact, since a denormal stays one.
    wide = body.cast("zext", x, "i8", "i16")
    size = body.op("and", "i16", wide, 0x7F)
    sign = body.op("shl", "i16", body.op("and", "i16", wide, 0x80), 8)
    half = body.op("or", "i16", body.op("shl", "i16", size, 7), sign)
    small = body.cast("fpext", body.cast("bitcast", half, "i16", "half"), "half", "float")
    value = body.assign(f"fmul {body.type('float')} {small}, {body.constant('float', 256.0)}")
    nan = body.op("icmp eq", "i16", size, 0x7F)
    not_a_number = types.splat(body.width, "float", "0x7FF8000000000000")
    return body.select(nan, "float", not_a_number, value)


def _f32_to_f8(mantissa: int, bias: int, infinity: int | None, nan_code: int) -> _Conversion:
    """`mantissa` bits, exponent `bias`; too large a value becomes the code `infinity` (None: `nan_code`)."""

    def convert(body: Body, x: str) -> str:
        bits = body.cast("bitcast", x, "float", "i32")
        size = body.op("and", "i32", bits, 0x7FFFFFFF)
        drop = 23 - mantissa
        # Normal results: add just under half of what is dropped, plus the last bit kept; then change the bias.
        odd = body.op("and", "i32", body.op("lshr", "i32", size, drop), 1)
        nearest = body.op("add", "i32", body.op("add", "i32", size, (1 << (drop - 1)) - 1), odd)
        normal = body.op("sub", "i32", body.op("lshr", "i32", nearest, drop), (127 - bias) << mantissa)
        # Denormal results: the sum with a number whose last place is the least denormal rounds as wanted.
        magic = 127 + (23 + 1 - bias - mantissa)
        absolute = body.cast("bitcast", size, "i32", "float")
        number = body.cast("bitcast", body.splat("i32", magic << 23), "i32", "float")
        total = body.assign(f"fadd {body.type('float')} {absolute}, {number}")
        denormal = body.op("sub", "i32", body.cast("bitcast", total, "float", "i32"), magic << 23)
        is_small = body.op("icmp ult", "i32", size, (127 + 1 - bias) << 23)
        code = body.select(is_small, "i32", denormal, normal)
        largest = nan_code if infinity is None else infinity
        # Above the largest code everything is one too large, as unsigned numbers are: infinity and NaN among them.
        over = body.op("icmp ugt", "i32", code, largest)
        code = body.select(over, "i32", largest, code)
        is_nan = body.op("icmp ugt", "i32", size, 0x7F800000)
        code = body.select(is_nan, "i32", nan_code, code)
        sign = body.op("and", "i32", body.op("lshr", "i32", bits, 24), 0x80)
        return body.cast("trunc", body.op("or", "i32", code, sign), "i32", "i8")

    return convert


def _f32_to_f4(body: Body, x: str) -> str:
    code = _f32_to_f8(1, 1, None, 7)(body, x)
    sign = body.op("and", "i8", body.op("lshr", "i8", code, 4), 8)
    return body.op("or", "i8", body.op("and", "i8", code, 7), sign)


def _e8m0_to(element: str, word: str, mantissa: int) -> _Conversion:
    """To a float type with f32's exponent: the code is that exponent. 2**-127 (code 0) is denormal there, and NaN (code
    255) needs a mantissa: both have the mantissa's highest bit."""

    def convert(body: Body, x: str) -> str:
        code = body.cast("zext", x, "i8", word)
        fields = body.op("shl", word, code, mantissa)
        next_code = body.op("and", word, body.op("add", word, code, 1), 0xFF)
        at_end = body.op("icmp ult", word, next_code, 2)
        bits = body.select(at_end, word, body.op("or", word, fields, 1 << (mantissa - 1)), fields)
        return body.cast("bitcast", bits, word, element)

    return convert


def _f32_to_e8m0(body: Body, x: str) -> str:
    """The nearest power of two, ties up; 0 and what is below 2**-127 become that; negative numbers become NaN."""
    bits = body.cast("bitcast", x, "float", "i32")
    size = body.op("and", "i32", bits, 0x7FFFFFFF)
    # Half of the place above which a number is rounded up; below 2**-126 numbers lie twice as densely.
    small = body.op("icmp ult", "i32", size, 1 << 23)
    nearest = body.op("add", "i32", size, body.select(small, "i32", 1 << 21, 1 << 22))
    code = body.op("lshr", "i32", nearest, 23)
    negative = body.op("icmp ugt", "i32", bits, 1 << 31)
    over = body.op("icmp ugt", "i32", code, 0xFF)
    code = body.select(body.op("or", "i1", negative, over), "i32", 0xFF, code)
    return body.cast("trunc", code, "i32", "i8")


def _f64_to_odd(body: Body, x: str) -> str:
    near = body.cast("fptrunc", x, "double", "float")
    back = body.cast("fpext", near, "float", "double")
    bits = body.cast("bitcast", near, "float", "i32")
    # Off, and even: the neighbour on the side of x is odd. Bits of a float grow with its size.
    off = body.assign(f"fcmp one {body.type('double')} {back}, {x}")
    even = body.op("icmp eq", "i32", body.op("and", "i32", bits, 1), 0)
    size = body.op("and", "i64", body.cast("bitcast", x, "double", "i64"), (1 << 63) - 1)
    size_back = body.op("and", "i64", body.cast("bitcast", back, "double", "i64"), (1 << 63) - 1)
    step = body.select(body.op("icmp ugt", "i64", size, size_back), "i32", 1, -1)
    moved = body.op("add", "i32", bits, step)
    out = body.select(body.op("and", "i1", off, even), "i32", moved, bits)
    return body.cast("bitcast", out, "i32", "float")


_CONVERSIONS: dict[tuple[str, str], _Conversion] = {
    ("bf16", "f32"): _bf16_to_f32,
    ("f32", "bf16"): _f32_to_bf16,
    ("f8e5m2", "f32"): _e5m2_to_f32,
    ("f8e4m3fn", "f32"): _e4m3_to_f32,
    ("f8e8m0fnu", "f32"): _e8m0_to("float", "i32", 23),
    ("f8e8m0fnu", "bf16"): _e8m0_to("bfloat", "i16", 7),
    ("f32", "f8e8m0fnu"): _f32_to_e8m0,
    ("f32", "f8e4m3fn"): _f32_to_f8(3, 7, None, 0x7F),
    ("f32", "f8e5m2"): _f32_to_f8(2, 15, 0x7C, 0x7E),
    ("f32", "f4e2m1fn"): _f32_to_f4,
    ("f64", "odd"): _f64_to_odd,
}
