"""Two to the power of a number by multiplications and additions: a polynomial for the part behind the point, the
exponent's bits for the part before.

The polynomials p have the least largest relative error |p(r) / 2**r - 1| on 0 <= r <= 1 among those with p(0) = 1, so
that whole numbers give exact powers (Remez's exchange in 64-bit mantissas, then rounded to f32; the test computes both
errors anew). With all roundings of f32 arithmetic, over every r: degree 3 is within 2**-13.5, 5 within 2**-22.5; the
hardware's `ex2.approx.ftz.f32` is within 2**-22 (PTX ISA).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tileopt.backends.llvm import types

if TYPE_CHECKING:
    from tileopt.backends.llvm.emitter import Emitter

# By degree, from the constant up.
COEFFICIENTS: dict[int, tuple[float, ...]] = {
    3: (1.0, 0.6951167583465576, 0.22764499485492706, 0.07706703990697861),
    5: (
        1.0,
        0.6931512951850891,
        0.24016444385051727,
        0.05579991266131401,
        0.009017030708491802,
        0.0018671300495043397,
    ),
}
LEAST, MOST = -127.0, 128.0  # what lies beyond gives 0 and infinity, as these do


def is_polynomial(register: int, eighths: int) -> bool:
    """Whether a register is among the `eighths` of each eight pairs that are computed as polynomials: pairs, since two
    registers are narrowed together, spread as evenly as can be among the others, the first one of them."""
    return register // 2 * eighths % 8 < eighths


def exp2_polynomial(emitter: Emitter, width: int, value: str, coefficients: Sequence[float]) -> str:
    """One chunk of f32. Results below 2**-126 are 0 and those of 2**128 on infinity; NaN stays NaN."""
    type_ = types.vector(width, "float")

    def constant(number: float) -> str:
        return types.splat(width, "float", types.f32(number))

    inside = emitter.intrinsic("llvm.maximum", width, "float", value, constant(LEAST))
    inside = emitter.intrinsic("llvm.minimum", width, "float", inside, constant(MOST))
    floor, power = emitter.backend.floor_and_power(emitter, width, inside)
    rest = emitter.assign(f"fsub {type_} {inside}, {floor}")
    *lower, result = map(constant, coefficients)
    for coefficient in reversed(lower):
        result = emitter.intrinsic("llvm.fma", width, "float", result, rest, coefficient)
    return emitter.assign(f"fmul {type_} {result}, {power}")
