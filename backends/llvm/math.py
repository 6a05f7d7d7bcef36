"""The math dialect and `arith.remf`: LLVM's intrinsics where there are, else the target's functions, in f32 or f64.

Types narrower than f32 are computed in f32 (`fma` in f64, so that it rounds once) and rounded once at the end.
"""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerAttr
from xdsl.ir import Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.arith import F32, chunk_type, flags, float_intrinsic, int_intrinsic, native, sign_bits
from tileopt.backends.llvm.convert import convert_chunk, from_integer
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.polynomial import COEFFICIENTS, exp2_polynomial, is_polynomial
from tileopt.dialects.arith import RemFOp
from tileopt.dialects.balance import EXACT_DEGREE, EXP2_DEGREE, EXP2_EIGHTHS
from tileopt.dialects.dtypes import bit_width, element_type

F64 = Float64Type()


def function(name: str) -> Handler:
    """A function of the target's library."""

    def emit(emitter: Emitter, op: Operation) -> None:
        type_ = element_type(op.results[0].type)
        width = emitter.width_of(op.results[0].type)
        inner = type_ if bit_width(type_) >= 32 else F32
        element = types.llvm_type(inner)

        def one(*args: str) -> str:
            wide = [convert_chunk(emitter, a, width, type_, inner) for a in args]
            out = emitter.backend.math_call(emitter, op, name, element, width, *wide)
            return convert_chunk(emitter, out, width, inner, type_)

        emitter.each_chunk(op, one)

    return emit


def exp2(emitter: Emitter, op: Operation) -> None:
    """Where `balance-units` said so, some of the registers of a fragment as polynomials."""
    eighths = op.attributes.get(EXP2_EIGHTHS)
    source = op.operands[0].type
    if not isinstance(eighths, IntegerAttr) or not isinstance(element_type(source), Float32Type):
        function("exp2")(emitter, op)
        return
    degree = op.attributes.get(EXP2_DEGREE)
    coefficients = COEFFICIENTS[degree.value.data if isinstance(degree, IntegerAttr) else EXACT_DEGREE]
    width = emitter.width_of(source)
    out: list[str] = []
    for number, chunk in enumerate(emitter.chunks(op.operands[0])):
        if is_polynomial(number * width, eighths.value.data):
            out.append(exp2_polynomial(emitter, width, chunk, coefficients))
        else:
            out.append(emitter.backend.math_call(emitter, op, "exp2", "float", width, chunk))
    emitter.define(op.results[0], out)


def absf(emitter: Emitter, op: Operation) -> None:
    source = op.operands[0].type
    element, width = emitter.element(source), emitter.width_of(source)
    if native(emitter, source):
        emitter.each_chunk(op, lambda a: emitter.intrinsic("llvm.fabs", width, element, a))
    else:
        mask = (1 << (types.BITS[element] - 1)) - 1
        emitter.each_chunk(op, lambda a: sign_bits(emitter, element, width, a, "and", mask))


def fma(emitter: Emitter, op: Operation) -> None:
    type_ = op.results[0].type
    if native(emitter, type_):
        float_intrinsic("llvm.fma")(emitter, op)
        return
    width, from_ = emitter.width_of(type_), element_type(type_)

    def one(*args: str) -> str:
        wide = [convert_chunk(emitter, a, width, from_, F64) for a in args]
        return convert_chunk(emitter, emitter.intrinsic("llvm.fma", width, "double", *wide), width, F64, from_)

    emitter.each_chunk(op, one)


def rsqrt(emitter: Emitter, op: Operation) -> None:
    type_ = element_type(op.results[0].type)
    inner = type_ if bit_width(type_) >= 32 else F32
    width, element = emitter.width_of(op.results[0].type), types.llvm_type(inner)
    one, words = types.splat(width, element, types.constant_text(1.0, inner)), flags(emitter)

    def make(a: str) -> str:
        root = emitter.intrinsic("llvm.sqrt", width, element, convert_chunk(emitter, a, width, type_, inner))
        out = emitter.assign(f"fdiv {words}{types.vector(width, element)} {one}, {root}")
        return convert_chunk(emitter, out, width, inner, type_)

    emitter.each_chunk(op, make)


def fpowi(emitter: Emitter, op: Operation) -> None:
    """In f64, where every i32 is exact."""
    base, power = op.operands
    type_, width = element_type(base.type), emitter.width_of(base.type)
    integer = element_type(power.type)

    def one(a: str, b: str) -> str:
        x = convert_chunk(emitter, a, width, type_, F64)
        y = from_integer(emitter, b, width, integer, F64, True)
        out = emitter.backend.math_call(emitter, op, "pow", "double", width, x, y)
        return convert_chunk(emitter, out, width, F64, type_)

    emitter.each_chunk(op, one)


def with_flag(name: str) -> Handler:
    """An integer intrinsic whose second operand says that no input is special (never, here)."""

    def emit(emitter: Emitter, op: Operation) -> None:
        element, width = emitter.element(op.results[0].type), emitter.width_of(op.results[0].type)
        type_ = types.vector(width, element)
        mangled = f"{name}.{types.mangled(width, element)}"
        emitter.each_chunk(op, lambda a: emitter.call(type_, mangled, (type_, a), ("i1", "false")))

    return emit


_IPOW = """define internal {T} @tile.ipow.{T}({T} %base, {T} %power) {{
entry:
  %negative = icmp slt {T} %power, 0
  br i1 %negative, label %inverse, label %loop
inverse:
  %up = add {T} %base, 1
  %small = icmp ule {T} %up, 2
  %odd = and {T} %power, 1
  %even = icmp eq {T} %odd, 0
  %square = mul {T} %base, %base
  %unit = select i1 %even, {T} %square, {T} %base
  %inverted = select i1 %small, {T} %unit, {T} 0
  ret {T} %inverted
loop:
  %e = phi {T} [ %power, %entry ], [ %e1, %loop ]
  %b = phi {T} [ %base, %entry ], [ %b1, %loop ]
  %r = phi {T} [ 1, %entry ], [ %r1, %loop ]
  %bit = trunc {T} %e to i1
  %rb = mul {T} %r, %b
  %r1 = select i1 %bit, {T} %rb, {T} %r
  %b1 = mul {T} %b, %b
  %e1 = lshr {T} %e, 1
  %done = icmp eq {T} %e1, 0
  br i1 %done, label %exit, label %loop
exit:
  ret {T} %r1
}}"""


def ipowi(emitter: Emitter, op: Operation) -> None:
    """By squaring; a negative power gives what is left of 1 / base**-power: 0 unless base is 1 or -1."""
    element, width = emitter.element(op.results[0].type), emitter.width_of(op.results[0].type)
    if element == "i1":  # the powers are 0 and -1, and 1 / base is base
        bools, true = types.vector(width, "i1"), types.splat(width, "i1", "1")
        emitter.each_chunk(op, lambda a, b: emitter.assign(f"select {bools} {b}, {bools} {a}, {bools} {true}"))
        return
    name = emitter.output.helper(f"tile.ipow.{element}", lambda: _IPOW.format(T=element))
    emitter.each_chunk(op, lambda a, b: per_element(emitter, name, element, width, a, b))


def per_element(emitter: Emitter, callee: str, element: str, width: int, *args: str) -> str:
    """Calls a scalar function for each register of a chunk."""
    if width == 1:
        return emitter.assign(f"call {element} {callee}({', '.join(f'{element} {a}' for a in args)})")
    type_ = types.vector(width, element)
    out = "poison"
    for lane in range(width):
        parts = [emitter.assign(f"extractelement {type_} {a}, i32 {lane}") for a in args]
        value = emitter.assign(f"call {element} {callee}({', '.join(f'{element} {p}' for p in parts)})")
        out = emitter.assign(f"insertelement {type_} {out}, {element} {value}, i32 {lane}")
    return out


def copysign(emitter: Emitter, op: Operation) -> None:
    element, width = emitter.element(op.results[0].type), emitter.width_of(op.results[0].type)
    if native(emitter, op.results[0].type):
        float_intrinsic("llvm.copysign")(emitter, op)
        return
    bits = types.BITS[element]
    integer, type_ = types.vector(width, f"i{bits}"), chunk_type(emitter, op.results[0])
    low, high = (types.splat(width, f"i{bits}", str(m)) for m in ((1 << (bits - 1)) - 1, 1 << (bits - 1)))

    def raw(value: str) -> str:
        return value if type_ == integer else emitter.assign(f"bitcast {type_} {value} to {integer}")

    def one(a: str, b: str) -> str:
        size = emitter.assign(f"and {integer} {raw(a)}, {low}")
        sign = emitter.assign(f"and {integer} {raw(b)}, {high}")
        out = emitter.assign(f"or {integer} {size}, {sign}")
        return out if type_ == integer else emitter.assign(f"bitcast {integer} {out} to {type_}")

    emitter.each_chunk(op, one)


_FUNCTIONS: dict[type[Operation], str] = {
    math.ExpOp: "exp",
    math.ExpM1Op: "expm1",
    math.LogOp: "log",
    math.Log2Op: "log2",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.SinOp: "sin",
    math.CosOp: "cos",
    math.TanOp: "tan",
    math.SinhOp: "sinh",
    math.CoshOp: "cosh",
    math.TanhOp: "tanh",
    math.AsinOp: "asin",
    math.AcosOp: "acos",
    math.AtanOp: "atan",
    math.AsinhOp: "asinh",
    math.AcoshOp: "acosh",
    math.AtanhOp: "atanh",
    math.Atan2Op: "atan2",
    math.PowFOp: "pow",
    math.ErfOp: "erf",
    math.CbrtOp: "cbrt",
    RemFOp: "fmod",
}

HANDLERS: dict[type[Operation], Handler] = {
    math.Exp2Op: exp2,
    math.AbsFOp: absf,
    math.AbsIOp: with_flag("llvm.abs"),
    math.FloorOp: float_intrinsic("llvm.floor"),
    math.CeilOp: float_intrinsic("llvm.ceil"),
    math.TruncOp: float_intrinsic("llvm.trunc"),
    math.RoundOp: float_intrinsic("llvm.round"),
    math.RoundEvenOp: float_intrinsic("llvm.roundeven"),
    math.SqrtOp: float_intrinsic("llvm.sqrt"),
    math.RsqrtOp: rsqrt,
    math.FmaOp: fma,
    math.CopySignOp: copysign,
    math.CountLeadingZerosOp: with_flag("llvm.ctlz"),
    math.CountTrailingZerosOp: with_flag("llvm.cttz"),
    math.CtPopOp: int_intrinsic("llvm.ctpop"),
    math.FPowIOp: fpowi,
    math.IPowIOp: ipowi,
    **{op: function(name) for op, name in _FUNCTIONS.items()},
}
