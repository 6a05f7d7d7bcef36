"""The arith dialect's conversions.

Defined where LLVM is not: a float too large for an integer type gives the nearest of its values, NaN gives 0. To a
narrower float: once, to nearest even; too large a value gives infinity, or NaN in f8e4m3fn, which has none (as
ml_dtypes and PyTorch do).
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, IntegerType
from xdsl.ir import Attribute, Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.arith import chunk_type
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.dialects.dtypes import bit_width, element_type

F32 = Float32Type()


def convert_chunk(
    emitter: Emitter, value: str, width: int, source: Attribute, result: Attribute, signed: bool = True
) -> str:
    """One chunk of element type `source` as element type `result`."""
    if source == result:
        return value
    if isinstance(source, IntegerType) and isinstance(result, IntegerType):
        return resize(emitter, value, width, source.width.data, result.width.data, signed)
    if isinstance(source, IntegerType):
        return from_integer(emitter, value, width, source, result, signed)
    if isinstance(result, IntegerType):
        return to_integer(emitter, value, width, source, result, signed)
    narrow, wide = bit_width(source), bit_width(result)
    if narrow < wide:
        return emitter.backend.extend(emitter, value, width, source, result)
    if narrow > wide:
        return emitter.backend.truncate(emitter, value, width, source, result)
    middle = emitter.backend.extend(emitter, value, width, source, F32)
    return emitter.backend.truncate(emitter, middle, width, F32, result)


def resize(emitter: Emitter, value: str, width: int, source: int, result: int, signed: bool) -> str:
    if source == result:
        return value
    word = "trunc" if result < source else ("sext" if signed else "zext")
    return emitter.assign(f"{word} {types.vector(width, f'i{source}')} {value} to {types.vector(width, f'i{result}')}")


def from_integer(emitter: Emitter, value: str, width: int, source: Attribute, result: Attribute, signed: bool) -> str:
    # Through f32 where the result is narrower; a value that f32 rounds twice is one that ml_dtypes rounds twice.
    through = result if bit_width(result) >= 32 else F32
    text = emitter.assign(
        f"{'sitofp' if signed else 'uitofp'} {types.vector(width, types.llvm_type(source))} {value}"
        f" to {types.vector(width, types.llvm_type(through))}"
    )
    return text if through == result else emitter.backend.truncate(emitter, text, width, through, result)


def to_integer(emitter: Emitter, value: str, width: int, source: Attribute, result: Attribute, signed: bool) -> str:
    if bit_width(source) < 32:
        value, source = emitter.backend.extend(emitter, value, width, source, F32), F32
    integer, element = types.llvm_type(result), types.llvm_type(source)
    name = f"llvm.fpto{'s' if signed else 'u'}i.sat"
    mangled = f"{name}.{types.mangled(width, integer)}.{types.mangled(width, element)}"
    return emitter.call(types.vector(width, integer), mangled, (types.vector(width, element), value))


def conversion(signed: bool = True) -> Handler:
    def emit(emitter: Emitter, op: Operation) -> None:
        operand, result = op.operands[0], op.results[0]
        width, source, to = emitter.width_of(result.type), element_type(operand.type), element_type(result.type)
        for type_ in (source, to):
            emitter.element(type_)  # refuses what no target has
        emitter.each_chunk(op, lambda a: convert_chunk(emitter, a, width, source, to, signed))

    return emit


def index_cast(emitter: Emitter, op: Operation) -> None:
    operand, result = op.operands[0], op.results[0]
    width = emitter.width_of(result.type)
    source, to = (types.BITS[emitter.element(v.type)] for v in (operand, result))
    emitter.each_chunk(op, lambda a: resize(emitter, a, width, source, to, True))


def bitcast(emitter: Emitter, op: Operation) -> None:
    source, result = chunk_type(emitter, op.operands[0]), chunk_type(emitter, op.results[0])
    emitter.each_chunk(op, lambda a: a if source == result else emitter.assign(f"bitcast {source} {a} to {result}"))


HANDLERS: dict[type[Operation], Handler] = {
    arith.ExtFOp: conversion(),
    arith.TruncFOp: conversion(),
    arith.ExtSIOp: conversion(),
    arith.ExtUIOp: conversion(False),
    arith.TruncIOp: conversion(),
    arith.SIToFPOp: conversion(),
    arith.UIToFPOp: conversion(False),
    arith.FPToSIOp: conversion(),
    arith.FPToUIOp: conversion(False),
    arith.IndexCastOp: index_cast,
    arith.BitcastOp: bitcast,
}
