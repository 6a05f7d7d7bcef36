"""The arith dialect but its conversions, on scalars and fragments, chunk by chunk.

Defined where LLVM is not: division and remainder by zero give 0, INT_MIN / -1 wraps, a shift by the width or more gives
what shifting one by one gives (0, or the sign). Floats that the target does not compute in go through f32, rounded
after each operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, Float32Type, FloatAttr, IntegerAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.values import Fragment
from tileopt.dialects.dtypes import element_type

F32 = Float32Type()
INT_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip


def _text(value: object, type_: Attribute) -> str:
    assert isinstance(value, int | float)
    return types.constant_text(value, type_)


def constant(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, arith.ConstantOp)
    result, value = op.result, op.value
    if isinstance(value, IntegerAttr | FloatAttr):
        emitter.values[result] = _text(value.value.data, value.type)
        return
    if not isinstance(value, DenseIntOrFPElementsAttr) or not isinstance(result.type, VectorType):
        raise emitter.unsupported(op, f"no code for a constant of {result.type}")
    element, width = emitter.element(result.type), emitter.width_of(result.type)
    (registers,) = result.type.get_shape()
    if value.is_splat():
        text = types.splat(width, element, _text(next(iter(value.iter_values())), result.type))
        emitter.values[result] = Fragment(element, width, (text,) * (registers // width))
        return
    texts = [_text(v, result.type) for v in value.get_values()]
    parts = (texts[at : at + width] for at in range(0, registers, width))
    emitter.values[result] = Fragment(element, width, tuple(types.vector_constant(element, part) for part in parts))


def _words(op: Operation, name: str) -> list[str]:
    """The flags of a property that is a set of them, as LLVM spells them."""
    found: Any = op.properties.get(name)
    return [] if found is None else [flag.value for flag in found.data or ()]


def flags(emitter: Emitter, op: Operation | None = None) -> str:
    """Fast-math flags of a float instruction, each followed by a blank."""
    words = set[str]()
    if emitter.fma:
        words.add("contract")
    if emitter.fast_math:
        words |= {"afn", "arcp"}
    if op is not None:
        words |= set(_words(op, "fastmath"))
    return "".join(f"{word} " for word in sorted(words))


def native(emitter: Emitter, type_: Attribute) -> bool:
    """Whether the target computes in this float type."""
    return isinstance(element_type(type_), Float32Type) or emitter.element(type_) in emitter.backend.native_floats


def in_float(emitter: Emitter, op: Operation, make: Callable[..., str], *, result_is_float: bool = True) -> None:
    """A float op by chunks: `make(element, width, *operands)`, in f32 where the target lacks the operands' type."""
    source = op.operands[-1].type
    width, element = emitter.width_of(op.results[0].type), emitter.element(source)
    if native(emitter, source):
        emitter.each_chunk(op, lambda *args: make(element, width, *args))
        return
    backend, from_ = emitter.backend, element_type(source)

    def through_f32(*args: str) -> str:
        wide = make("float", width, *(backend.extend(emitter, a, width, from_, F32) for a in args))
        return backend.truncate(emitter, wide, width, F32, from_) if result_is_float else wide

    emitter.each_chunk(op, through_f32)


def float_binary(instruction: str) -> Handler:
    def emit(emitter: Emitter, op: Operation) -> None:
        words = flags(emitter, op)
        in_float(
            emitter,
            op,
            lambda element, width, a, b: emitter.assign(
                f"{instruction} {words}{types.vector(width, element)} {a}, {b}"
            ),
        )

    return emit


def float_intrinsic(name: str) -> Handler:
    def emit(emitter: Emitter, op: Operation) -> None:
        in_float(emitter, op, lambda element, width, *args: emitter.intrinsic(name, width, element, *args))

    return emit


def sign_bits(emitter: Emitter, element: str, width: int, value: str, instruction: str, mask: int) -> str:
    """`value` with a bit operation on its bits: negation and absolute value, which no rounding touches."""
    integer = types.vector(width, f"i{types.BITS[element]}")
    type_ = types.vector(width, element)
    bits = value if type_ == integer else emitter.assign(f"bitcast {type_} {value} to {integer}")
    masked = emitter.assign(
        f"{instruction} {integer} {bits}, {types.splat(width, f'i{types.BITS[element]}', str(mask))}"
    )
    return masked if type_ == integer else emitter.assign(f"bitcast {integer} {masked} to {type_}")


def negf(emitter: Emitter, op: Operation) -> None:
    source = op.operands[0].type
    element, width = emitter.element(source), emitter.width_of(source)
    if native(emitter, source):
        emitter.each_chunk(op, lambda a: emitter.assign(f"fneg {types.vector(width, element)} {a}"))
    else:
        mask = 1 << (types.BITS[element] - 1)
        emitter.each_chunk(op, lambda a: sign_bits(emitter, element, width, a, "xor", mask))


def cmpf(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, arith.CmpfOp)
    predicate = FLOAT_PREDICATES[op.predicate.value.data]
    in_float(
        emitter,
        op,
        lambda element, width, a, b: emitter.assign(f"fcmp {predicate} {types.vector(width, element)} {a}, {b}"),
        result_is_float=False,
    )


def cmpi(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, arith.CmpiOp)
    predicate = INT_PREDICATES[op.predicate.value.data]
    type_ = chunk_type(emitter, op.lhs)
    emitter.each_chunk(op, lambda a, b: emitter.assign(f"icmp {predicate} {type_} {a}, {b}"))


def chunk_type(emitter: Emitter, value: SSAValue) -> str:
    """The LLVM type of a value's chunks."""
    return types.vector(emitter.width_of(value.type), emitter.element(value.type))


def select(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, arith.SelectOp)
    condition = emitter.chunks(op.cond)
    on_true, on_false = emitter.chunks(op.lhs), emitter.chunks(op.rhs)
    type_ = chunk_type(emitter, op.result)
    whole = not isinstance(op.cond.type, VectorType)
    if whole:
        condition = condition * len(on_true)
    kind = "i1" if whole else types.vector(emitter.width_of(op.cond.type), "i1")
    rows = zip(condition, on_true, on_false, strict=True)
    emitter.define(op.result, [emitter.assign(f"select {kind} {c}, {type_} {a}, {type_} {b}") for c, a, b in rows])


def int_binary(instruction: str, *, wraps: bool = False) -> Handler:
    def emit(emitter: Emitter, op: Operation) -> None:
        words = "".join(f"{word} " for word in _words(op, "overflowFlags")) if wraps else ""
        type_ = chunk_type(emitter, op.results[0])
        emitter.each_chunk(op, lambda a, b: emitter.assign(f"{instruction} {words}{type_} {a}, {b}"))

    return emit


def int_intrinsic(name: str) -> Handler:
    def emit(emitter: Emitter, op: Operation) -> None:
        element, width = emitter.element(op.results[0].type), emitter.width_of(op.results[0].type)
        emitter.each_chunk(op, lambda *args: emitter.intrinsic(name, width, element, *args))

    return emit


def constant_int(text: str) -> int | None:
    """The integer that an operand's text is, scalar or splat; None for a run-time value."""
    if text.startswith("splat"):
        text = text[:-1].rpartition(" ")[2]
    return int(text) if text.lstrip("-").isdigit() else None


def division(instruction: str, adjust: int = 0) -> Handler:
    """A guarded division or remainder. `adjust`: -1 rounds the quotient down, 1 up (else towards zero)."""
    signed = instruction.startswith("s")

    def emit(emitter: Emitter, op: Operation) -> None:
        element, width = emitter.element(op.results[0].type), emitter.width_of(op.results[0].type)
        emitter.each_chunk(op, lambda a, b: divide(emitter, instruction, adjust, signed, element, width, a, b))

    return emit


def divide(
    emitter: Emitter, instruction: str, adjust: int, signed: bool, element: str, width: int, a: str, b: str
) -> str:
    type_, bools = types.vector(width, element), types.vector(width, "i1")
    known = constant_int(b)
    zero, one = types.splat(width, element, "0"), types.splat(width, element, "1")
    by_zero = None
    if known is None or known in (0, -1):
        unsafe = by_zero = emitter.assign(f"icmp eq {type_} {b}, {zero}")
        if signed:
            least = types.splat(width, element, str(-(1 << (types.BITS[element] - 1))))
            is_least = emitter.assign(f"icmp eq {type_} {a}, {least}")
            is_minus = emitter.assign(f"icmp eq {type_} {b}, {types.splat(width, element, '-1')}")
            wraps = emitter.assign(f"and {bools} {is_least}, {is_minus}")
            unsafe = emitter.assign(f"or {bools} {by_zero}, {wraps}")
        b = emitter.assign(f"select {bools} {unsafe}, {type_} {one}, {type_} {b}")
    out = emitter.assign(f"{instruction} {type_} {a}, {b}")
    if adjust:
        product = emitter.assign(f"mul {type_} {out}, {b}")
        rest = emitter.assign(f"sub {type_} {a}, {product}")
        off = emitter.assign(f"icmp ne {type_} {rest}, {zero}")
        if signed:
            signs = emitter.assign(f"xor {type_} {rest}, {b}")
            side = emitter.assign(f"icmp {'slt' if adjust < 0 else 'sge'} {type_} {signs}, {zero}")
            off = emitter.assign(f"and {bools} {off}, {side}")
        step = off
        if type_ != bools:
            step = emitter.assign(f"{'sext' if adjust < 0 else 'zext'} {bools} {off} to {type_}")
        out = emitter.assign(f"add {type_} {out}, {step}")
    if by_zero is not None:
        out = emitter.assign(f"select {bools} {by_zero}, {type_} {zero}, {type_} {out}")
    return out


def shift(instruction: str) -> Handler:
    def emit(emitter: Emitter, op: Operation) -> None:
        element, width = emitter.element(op.results[0].type), emitter.width_of(op.results[0].type)
        type_, bits = types.vector(width, element), types.BITS[element]
        last = types.splat(width, element, str(bits - 1))

        def one(a: str, b: str) -> str:
            known = constant_int(b)
            if known is not None and 0 <= known < bits:
                return emitter.assign(f"{instruction} {type_} {a}, {b}")
            amount = emitter.intrinsic("llvm.umin", width, element, b, last)
            out = emitter.assign(f"{instruction} {type_} {a}, {amount}")
            if instruction == "ashr":
                return out
            inside = emitter.assign(f"icmp ule {type_} {b}, {last}")
            zero = types.splat(width, element, "0")
            return emitter.assign(f"select {types.vector(width, 'i1')} {inside}, {type_} {out}, {type_} {zero}")

        emitter.each_chunk(op, one)

    return emit


def extended(extension: str, instruction: str) -> Handler:
    """An op with two results: the low half, and the high half (of a product) or the carry (of a sum)."""

    def emit(emitter: Emitter, op: Operation) -> None:
        element, width = emitter.element(op.operands[0].type), emitter.width_of(op.operands[0].type)
        bits = types.BITS[element]
        type_, wide = types.vector(width, element), types.vector(width, f"i{2 * bits}")
        high_type = chunk_type(emitter, op.results[1])
        low: list[str] = []
        high: list[str] = []
        for a, b in zip(emitter.chunks(op.operands[0]), emitter.chunks(op.operands[1]), strict=True):
            x, y = (emitter.assign(f"{extension} {type_} {v} to {wide}") for v in (a, b))
            both = emitter.assign(f"{instruction} {wide} {x}, {y}")
            low.append(emitter.assign(f"trunc {wide} {both} to {type_}"))
            upper = emitter.assign(f"lshr {wide} {both}, {types.splat(width, f'i{2 * bits}', str(bits))}")
            high.append(emitter.assign(f"trunc {wide} {upper} to {high_type}"))
        emitter.define(op.results[0], low)
        emitter.define(op.results[1], high)

    return emit


HANDLERS: dict[type[Operation], Handler] = {
    arith.ConstantOp: constant,
    arith.AddiOp: int_binary("add", wraps=True),
    arith.SubiOp: int_binary("sub", wraps=True),
    arith.MuliOp: int_binary("mul", wraps=True),
    arith.AndIOp: int_binary("and"),
    arith.OrIOp: int_binary("or"),
    arith.XOrIOp: int_binary("xor"),
    arith.DivSIOp: division("sdiv"),
    arith.DivUIOp: division("udiv"),
    arith.RemSIOp: division("srem"),
    arith.RemUIOp: division("urem"),
    arith.FloorDivSIOp: division("sdiv", -1),
    arith.CeilDivSIOp: division("sdiv", 1),
    arith.CeilDivUIOp: division("udiv", 1),
    arith.MinSIOp: int_intrinsic("llvm.smin"),
    arith.MaxSIOp: int_intrinsic("llvm.smax"),
    arith.MinUIOp: int_intrinsic("llvm.umin"),
    arith.MaxUIOp: int_intrinsic("llvm.umax"),
    arith.ShLIOp: shift("shl"),
    arith.ShRUIOp: shift("lshr"),
    arith.ShRSIOp: shift("ashr"),
    arith.AddUIExtendedOp: extended("zext", "add"),
    arith.MulUIExtendedOp: extended("zext", "mul"),
    arith.MulSIExtendedOp: extended("sext", "mul"),
    arith.CmpiOp: cmpi,
    arith.CmpfOp: cmpf,
    arith.SelectOp: select,
    arith.AddfOp: float_binary("fadd"),
    arith.SubfOp: float_binary("fsub"),
    arith.MulfOp: float_binary("fmul"),
    arith.DivfOp: float_binary("fdiv"),
    arith.NegfOp: negf,
    arith.MaximumfOp: float_intrinsic("llvm.maximum"),
    arith.MinimumfOp: float_intrinsic("llvm.minimum"),
    arith.MaxnumfOp: float_intrinsic("llvm.maxnum"),
    arith.MinnumfOp: float_intrinsic("llvm.minnum"),
}
