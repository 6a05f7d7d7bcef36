"""Math functions: NVIDIA's library, and the hardware's approximations where they are asked for or as good.

The hardware's `ex2.approx.ftz.f32` is within 2 ulp on the whole range, which is what the library's exp2f is, but that
it gives 0 for results below the least normal number (2**-126); without `ftz` it takes four instructions.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import math
from xdsl.ir import Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.arith import F32
from tileopt.backends.llvm.convert import convert_chunk
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.math import HANDLERS as EXACT
from tileopt.backends.llvm.math import per_element
from tileopt.backends.nvidia import libdevice
from tileopt.backends.nvidia.ptx import PURE, Statement
from tileopt.dialects.diagnostics import UnsupportedError, location_of
from tileopt.dialects.dtypes import bit_width, element_type

LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453
LOG10_2 = 0.3010299956639812

FUNCTIONS = frozenset(
    (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin",
        "acos", "atan", "asinh", "acosh", "atanh", "atan2", "pow", "erf", "cbrt", "fmod",
    )
)  # fmt: skip


def math_call(emitter: Emitter, op: Operation, function: str, element: str, width: int, *args: str) -> str:
    """One chunk of a math function on operands of `float` or `double`."""
    if element == "float" and width == 1:
        if function == "exp2":
            return _approximate(emitter, "ex2", args[0], flush=True)
        if emitter.fast_math and function in _FAST:
            return _FAST[function](emitter, args[0])
    if function not in FUNCTIONS:
        raise UnsupportedError("backend/unsupported-op", f"no GPU has '{function}'", location=location_of(op))
    name = f"__nv_{function}{'f' if element == 'float' else ''}"
    callee = libdevice.function(name).add_to(emitter.output, name)
    return per_element(emitter, callee, element, width, *args)


def floor_and_power(emitter: Emitter, width: int, value: str) -> tuple[str, str]:
    """See `TargetBackend.floor_and_power`. A number of which the last bit of the mantissa counts ones is added, rounded
    down: what is below the point goes, and the sum's low bits hold the floor with the exponent's bias. (A conversion
    to an integer would take the unit that the polynomial is there to spare.)"""
    assert width == 1
    magic = types.f32(float((1 << 23) + 127))
    biased = emitter.call("float", "llvm.nvvm.add.rm.f", ("float", value), ("float", magic))
    floor = emitter.assign(f"fsub float {biased}, {magic}")
    bits = emitter.assign(f"bitcast float {biased} to i32")
    return floor, emitter.assign(f"bitcast i32 {emitter.assign(f'shl i32 {bits}, 23')} to float")


def _approximate(emitter: Emitter, instruction: str, value: str, *, flush: bool = False) -> str:
    statement = Statement()
    result, operand = statement.output("float"), statement.word("float", value)
    return statement.emit(emitter, f"{instruction}.approx{'.ftz' * flush}.f32 {result}, {operand};", PURE)[0]


def _times(emitter: Emitter, value: str, factor: float) -> str:
    return emitter.assign(f"fmul float {value}, {types.f32(factor)}")


_FAST: dict[str, Callable[[Emitter, str], str]] = {
    "exp": lambda e, x: _approximate(e, "ex2", _times(e, x, LOG2_E)),
    "log2": lambda e, x: _approximate(e, "lg2", x),
    "log": lambda e, x: _times(e, _approximate(e, "lg2", x), LN_2),
    "log10": lambda e, x: _times(e, _approximate(e, "lg2", x), LOG10_2),
    "sin": lambda e, x: _approximate(e, "sin", x),
    "cos": lambda e, x: _approximate(e, "cos", x),
    "tanh": lambda e, x: _approximate(e, "tanh", x),
}


def _root(instruction: str, exact: Handler) -> Handler:
    """A square root, approximate under fast math in f32 and narrower."""

    def emit(emitter: Emitter, op: Operation) -> None:
        type_ = element_type(op.results[0].type)
        if not emitter.fast_math or bit_width(type_) > 32:
            exact(emitter, op)
            return

        def one(value: str) -> str:
            out = _approximate(emitter, instruction, convert_chunk(emitter, value, 1, type_, F32))
            return convert_chunk(emitter, out, 1, F32, type_)

        emitter.each_chunk(op, one)

    return emit


HANDLERS: dict[type[Operation], Handler] = {
    math.SqrtOp: _root("sqrt", EXACT[math.SqrtOp]),
    math.RsqrtOp: _root("rsqrt", EXACT[math.RsqrtOp]),
}
