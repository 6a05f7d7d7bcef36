"""Values of four bits, two in a byte: exact in what they are read as, rounded once in what they are made of.

Integers become floats without a conversion: their bits are the last places of a power of two, which is subtracted. The
fields of an f4e2m1fn are those of an f16 of 2**-14 times its value, denormals too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import BFloat16Type, Float8E4M3FNType, Float16Type, Float32Type, IntegerType
from xdsl.ir import Attribute, Operation

from tileopt.backends.llvm import softfloat, types
from tileopt.backends.llvm.body import Body
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.registers import pick
from tileopt.backends.llvm.values import Fragment
from tileopt.dialects import simt_packed
from tileopt.dialects.dtypes import element_type

_Reading: TypeAlias = Callable[[Body, str], str]


def read(emitter: Emitter, code: str, width: int, format: str, result: Attribute) -> str:
    """One chunk of codes, bytes below 16, as values of the element type `result`."""
    if isinstance(result, IntegerType):
        return code if format == "u4" else _call(emitter, f"{format}_to_i8", code, width, "i8", _i4_to_i8)
    if format == "f4e2m1fn" and isinstance(result, Float8E4M3FNType):
        return _call(emitter, "f4e2m1fn_to_f8e4m3fn", code, width, "i8", _f4_to_e4m3)
    single = _call(emitter, f"{format}_to_f32", code, width, "float", _TO_F32[format])
    match result:
        case Float32Type():
            return single
        case BFloat16Type():
            return _call(emitter, "f32_cut_to_bf16", single, width, "bfloat", _high_half, "float")
        case Float16Type():
            to = types.vector(width, "half")
            return emitter.assign(f"fptrunc {types.vector(width, 'float')} {single} to {to}")
        case _:
            return emitter.backend.truncate(emitter, single, width, Float32Type(), result)


def _call(emitter: Emitter, name: str, value: str, width: int, result: str, make: _Reading, source: str = "i8") -> str:
    from_, to = types.vector(width, source), types.vector(width, result)
    helper = f"tile.{name}.{width}"

    def define() -> str:
        body = Body(width, emitter.output)
        return body.function(helper, result, [(source, "%x")], make(body, "%x"))

    return emitter.assign(f"call {to} {emitter.output.helper(helper, define)}({from_} {value})")


def _i4_to_i8(body: Body, x: str) -> str:
    return body.op("sub", "i8", body.op("xor", "i8", x, 8), 8)


def _integer_to_f32(bias: int) -> _Reading:
    """`bias`: what is added to make the value natural, by turning that bit."""

    def convert(body: Body, x: str) -> str:
        natural = body.op("xor", "i32", body.cast("zext", x, "i8", "i32"), bias)
        number = body.op("or", "i32", natural, types.float_bits(2.0**23, Float32Type()))
        return body.op("fsub", "float", body.cast("bitcast", number, "i32", "float"), 2.0**23 + bias)

    return convert


def _f4_to_f32(body: Body, x: str) -> str:
    wide = body.cast("zext", x, "i8", "i16")
    sign = body.op("shl", "i16", body.op("and", "i16", wide, 8), 12)
    size = body.op("shl", "i16", body.op("and", "i16", wide, 7), 9)
    half = body.cast("bitcast", body.op("or", "i16", sign, size), "i16", "half")
    return body.op("fmul", "float", body.cast("fpext", half, "half", "float"), 2.0**14)


def _f4_to_e4m3(body: Body, x: str) -> str:
    # From 1 on the fields are the same but for the bias; 0.5 is normal there, and 0 has no exponent.
    size = body.op("and", "i8", x, 7)
    normal = body.op("add", "i8", body.op("shl", "i8", size, 2), 0x30)
    below = body.select(body.op("icmp eq", "i8", size, 0), "i8", 0, 0x30)
    code = body.select(body.op("icmp ult", "i8", size, 2), "i8", below, normal)
    return body.op("or", "i8", code, body.op("shl", "i8", body.op("and", "i8", x, 8), 4))


def _high_half(body: Body, x: str) -> str:
    bits = body.op("lshr", "i32", body.cast("bitcast", x, "float", "i32"), 16)
    return body.cast("bitcast", body.cast("trunc", bits, "i32", "i16"), "i16", "bfloat")


_TO_F32: dict[str, _Reading] = {"i4": _integer_to_f32(8), "u4": _integer_to_f32(0), "f4e2m1fn": _f4_to_f32}


def unpack(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt_packed.FragmentUnpack)
    source, format, result = emitter.fragment(op.source), op.format.data, element_type(op.result.type)
    width = source.width
    halves: list[str] = []
    for word, operand in (("and", 15), ("lshr", 4)):
        for chunk in source.chunks:
            code = emitter.assign(f"{word} {source.type} {chunk}, {types.splat(width, 'i8', str(operand))}")
            halves.append(read(emitter, code, width, format, result))
    together = Fragment(emitter.element(result), width, tuple(halves))
    count = source.registers
    emitter.values[op.result] = pick(emitter, together, [r // 2 + r % 2 * count for r in range(2 * count)])


def pack(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt_packed.FragmentPack)
    source, type_ = emitter.fragment(op.source), element_type(op.source.type)
    low, high = (pick(emitter, source, range(place, source.registers, 2)) for place in range(2))
    width = low.width
    bytes_ = types.vector(width, "i8")
    chunks: list[str] = []
    for first, second in zip(low.chunks, high.chunks, strict=True):
        if isinstance(type_, IntegerType):
            first = emitter.assign(f"and {bytes_} {first}, {types.splat(width, 'i8', '15')}")
        else:
            first, second = (softfloat.to_f4(emitter, c, width, type_) for c in (first, second))
        shifted = emitter.assign(f"shl {bytes_} {second}, {types.splat(width, 'i8', '4')}")
        chunks.append(emitter.assign(f"or {bytes_} {first}, {shifted}"))
    emitter.values[op.result] = Fragment("i8", width, tuple(chunks))


HANDLERS: dict[type[Operation], Handler] = {
    simt_packed.FragmentUnpack: unpack,
    simt_packed.FragmentPack: pack,
}
