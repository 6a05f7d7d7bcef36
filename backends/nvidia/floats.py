"""Conversions of float types: by LLVM's casts, the hardware's `cvt` for 8-bit floats, or in integer arithmetic.

`cvt` to an 8-bit type saturates; here too large a value becomes infinity, or NaN in f8e4m3fn, as on every target.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
)
from xdsl.ir import Attribute, Operation

from tileopt.backends.llvm import softfloat, types
from tileopt.backends.llvm.convert import conversion, convert_chunk
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.nvidia.ptx import PURE, Statement
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.target import Target, target_of

narrow_each = widen_each = conversion()
F16, F32 = Float16Type(), Float32Type()
PAIRS_ARCH = 80  # from here on one instruction narrows two
CVT_ARCH = 89  # from here on there are conversions from and to 8-bit floats


@dataclass(frozen=True)
class _Narrow:
    """`limit`: bits of the least f32 that is too large; `over`: what it becomes; `nan`: the code of NaN."""

    name: str
    limit: int
    over: int
    nan: int


_NARROW: dict[type[Attribute], _Narrow] = {
    # 464 is half-way between the largest value, 448, and what would be next: it rounds to 448, which is even.
    Float8E4M3FNType: _Narrow("e4m3", types.float_bits(464.0, F32) + 1, 0x7F, 0x7F),
    # 61440, half-way between 57344 and 65536, rounds up.
    Float8E5M2Type: _Narrow("e5m2", types.float_bits(61440.0, F32), 0x7C, 0x7E),
}


def extend(emitter: Emitter, target: Target, value: str, width: int, source: Attribute, result: Attribute) -> str:
    """One chunk from a float type to a wider one; exact."""
    narrow = _NARROW.get(type(source))
    if isinstance(source, Float8E8M0FNUType):
        return softfloat.extend(emitter, value, width, source, result)
    if narrow is None:
        return _cast(emitter, "fpext", value, width, source, result)
    if target.arch < CVT_ARCH or width > 1:
        return softfloat.extend(emitter, value, width, source, result)
    byte = emitter.assign(f"zext i8 {value} to i16")
    statement = Statement()
    out, operand = statement.output("i32"), statement.word("i16", byte)
    pair = statement.emit(emitter, f"cvt.rn.f16x2.{narrow.name}x2 {out}, {operand};", PURE)[0]
    low = emitter.assign(f"trunc i32 {pair} to i16")
    half = emitter.assign(f"bitcast i16 {low} to half")
    return convert_chunk(emitter, half, 1, F16, result)


def truncate(emitter: Emitter, target: Target, value: str, width: int, source: Attribute, result: Attribute) -> str:
    """One chunk from a float type to a narrower one, to nearest even."""
    narrow = _NARROW.get(type(result))
    if isinstance(result, Float8E8M0FNUType):
        return softfloat.truncate(emitter, value, width, source, result)
    if narrow is None:
        return _cast(emitter, "fptrunc", value, width, source, result)
    if target.arch < CVT_ARCH or width > 1 or types.llvm_type(source) == "double":
        return softfloat.truncate(emitter, value, width, source, result)
    single = convert_chunk(emitter, value, 1, source, F32)
    statement = Statement()
    out = statement.output("i16")
    high, low = statement.word("float", types.f32(0.0)), statement.word("float", single)
    code = statement.emit(emitter, f"cvt.rn.satfinite.{narrow.name}x2.f32 {out}, {high}, {low};", PURE)[0]
    code = emitter.assign(f"and i16 {code}, 127")
    bits = emitter.assign(f"bitcast float {single} to i32")
    size = emitter.assign(f"and i32 {bits}, {0x7FFFFFFF}")
    over = emitter.assign(f"icmp uge i32 {size}, {narrow.limit}")
    code = emitter.assign(f"select i1 {over}, i16 {narrow.over}, i16 {code}")
    if narrow.nan != narrow.over:
        nan = emitter.assign(f"icmp ugt i32 {size}, {0x7F800000}")
        code = emitter.assign(f"select i1 {nan}, i16 {narrow.nan}, i16 {code}")
    high_byte = emitter.assign(f"lshr i32 {bits}, 24")
    sign = emitter.assign(f"and i16 {emitter.assign(f'trunc i32 {high_byte} to i16')}, 128")
    signed = emitter.assign(f"or i16 {code}, {sign}")
    return emitter.assign(f"trunc i16 {signed} to i8")


def narrow_pairs(emitter: Emitter, op: Operation) -> None:
    """`arith.truncf` of a fragment: two registers by one instruction where they are joined to a word later anyway."""
    assert isinstance(op, arith.TruncFOp)
    source, result = element_type(op.operands[0].type), element_type(op.results[0].type)
    registers = emitter.chunks(op.operands[0])
    single = not isinstance(source, Float32Type) or bit_width(result) != 16 or len(registers) % 2
    if single or target_of(op).arch < PAIRS_ARCH:
        narrow_each(emitter, op)
        return
    out: list[str] = []
    for low, high in zip(registers[::2], registers[1::2], strict=True):
        out += _narrowed(emitter, result, low, high)
    emitter.define(op.results[0], out)


def widen_pairs(emitter: Emitter, op: Operation) -> None:
    """`arith.extf` of a fragment of 8-bit floats: one instruction reads two registers."""
    assert isinstance(op, arith.ExtFOp)
    source, result = element_type(op.operands[0].type), element_type(op.results[0].type)
    narrow, registers = _NARROW.get(type(source)), emitter.chunks(op.operands[0])
    if narrow is None or len(registers) % 2 or target_of(op).arch < CVT_ARCH or bit_width(result) > 32:
        widen_each(emitter, op)
        return
    out: list[str] = []
    for low, high in zip(registers[::2], registers[1::2], strict=True):
        words = [emitter.assign(f"zext i8 {byte} to i16") for byte in (low, high)]
        both = emitter.assign(f"or i16 {words[0]}, {emitter.assign(f'shl i16 {words[1]}, 8')}")
        statement = Statement()
        word, operand = statement.output("i32"), statement.word("i16", both)
        pair = statement.emit(emitter, f"cvt.rn.f16x2.{narrow.name}x2 {word}, {operand};", PURE)[0]
        halves = emitter.assign(f"bitcast i32 {pair} to <2 x half>")
        values = [emitter.assign(f"extractelement <2 x half> {halves}, i32 {lane}") for lane in range(2)]
        if not isinstance(result, Float16Type):
            values = [emitter.assign(f"fpext half {value} to float") for value in values]
        out += values if not isinstance(result, BFloat16Type) else _narrowed(emitter, result, values[0], values[1])
    emitter.define(op.results[0], out)


def _narrowed(emitter: Emitter, result: Attribute, low: str, high: str) -> list[str]:
    """Two registers of f32 as a type of 16 bits."""
    to, name = types.vector(2, emitter.element(result)), "f16x2" if isinstance(result, Float16Type) else "bf16x2"
    # An intrinsic, since LLVM takes a cast of two apart again.
    pair = emitter.call(to, f"llvm.nvvm.ff2{name}.rn", ("float", high), ("float", low))
    return [emitter.assign(f"extractelement {to} {pair}, i32 {lane}") for lane in range(2)]


def _cast(emitter: Emitter, word: str, value: str, width: int, source: Attribute, result: Attribute) -> str:
    from_, to = (types.vector(width, emitter.element(t)) for t in (source, result))
    return emitter.assign(f"{word} {from_} {value} to {to}")


HANDLERS: dict[type[Operation], Handler] = {arith.TruncFOp: narrow_pairs, arith.ExtFOp: widen_pairs}
