"""Math functions on vectors of f32, as LLVM functions: what LLVM has no vector library for.

`exp`, `exp2` and `log` compute in f32 by argument reduction and a polynomial; the others compute in f64 and round once.
Errors against f64, over all f32 in test_vector_math.py: exp, exp2, log below 1.1 ulp, the others below 0.6 ulp.
Denormals, infinities and NaN are right; no branch is taken.

The polynomials interpolate at Chebyshev nodes, which is within a bit of the best: of (e^r - 1 - r) / r^2 and
(2^r - 1) / r over the reduced range, of (log(1+f) - f + f^2/2) / f^3 over sqrt(1/2) - 1 .. sqrt(2) - 1, of the rest of
log((1+s)/(1-s)) after 2s in s^2, and of erf(x) / x in x^2 up to 16. They were computed in 80-bit arithmetic; the test
computes them again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tileopt.backends.llvm import types
from tileopt.backends.llvm.body import Body
from tileopt.backends.llvm.emitter import Emitter

EXP_F32 = (0.5, 0.16666576266288757, 0.041666556149721146, 0.008363203145563602, 0.0013926213141530752)
EXP2_F32 = (
    0.6931471824645996, 0.24022650718688965, 0.055503569543361664, 0.009618082083761692, 0.0013390978565439582,
    0.00015453262312803417,
)  # fmt: skip
LOG_F32 = (
    0.3333333134651184, -0.2499999701976776, 0.20000715553760529, -0.1666780263185501, 0.14249058067798615,
    -0.12425687164068222, 0.11685419827699661, -0.11479733884334564, 0.06971611827611923,
)  # fmt: skip
_HEX = float.fromhex
EXP_F64 = tuple(map(_HEX, (
    "0x1.0000000000001p-1", "0x1.5555555555556p-3", "0x1.5555555553d50p-5", "0x1.11111111109d7p-7",
    "0x1.6c16c1789352fp-10", "0x1.a01a01a7b7090p-13", "0x1.a019b8efed075p-16", "0x1.71de0dc9d4723p-19",
    "0x1.2891a858e5dc8p-22", "0x1.af3886bb9bc75p-26",
)))  # fmt: skip
ATANH_F64 = tuple(map(_HEX, (
    "0x1.5555555555558p-1", "0x1.99999999952e4p-2", "0x1.2492492df128bp-2", "0x1.c71c62e5a038cp-3",
    "0x1.7462b4a36fd76p-3", "0x1.39fe6149384fep-3", "0x1.2b5840a3f62b1p-3",
)))  # fmt: skip
ERF_F64 = tuple(map(_HEX, (
    "0x1.6a040781a499cp-2", "-0x1.69a0ccd73f872p-3", "0x1.0dabaf051a407p-3", "-0x1.b92e97780fe5fp-4",
    "0x1.717efd071ad23p-4", "-0x1.3215b3d79caa4p-4", "0x1.ea97d94410ee9p-5", "-0x1.76eb3afae8efbp-5",
    "0x1.0ed618c4f85b5p-5", "-0x1.701656f8b462fp-6", "0x1.d6212dade890fp-7", "-0x1.1ac84937b249bp-7",
    "0x1.3e965dc6853bcp-8", "-0x1.4bb343de61d49p-9", "0x1.4ec6e7bd4e9c0p-10", "-0x1.60bd5cd037760p-11",
    "0x1.35799ef6fa993p-12", "-0x1.2fecf75c8fa35p-14", "0x1.14a6aff85e5c5p-15", "-0x1.33b971eab54eep-15",
    "0x1.affb49b137854p-17",
)))  # fmt: skip
LOG2E = 1.4426950408889634
LN2 = 0.6931471805599453
LN2_HIGH, LN2_LOW = 0.693145751953125, 1.42860682030941723212e-6  # the high part has 15 bits: times n exactly
INFINITY = float("inf")

Function: TypeAlias = Callable[[Body, str], str]


def _clamp(body: Body, element: str, x: str, low: float, high: float) -> str:
    """x within low..high; NaN stays."""
    over = body.op("fcmp ogt", element, x, high)
    x = body.select(over, element, high, x)
    under = body.op("fcmp olt", element, x, low)
    return body.select(under, element, low, x)


def _round_f32(body: Body, x: str) -> tuple[str, str]:
    """The nearest integer as an f32 and an i32, for |x| < 2**22: adding 1.5 * 2**23 leaves it in the low bits."""
    magic = 12582912.0
    shifted = body.op("fadd", "float", x, magic)
    bits = body.cast("bitcast", shifted, "float", "i32")
    return body.op("fsub", "float", shifted, magic), body.op("sub", "i32", bits, 0x4B400000)


def _scale_f32(body: Body, x: str, n: str) -> str:
    """x * 2**n for n in -160..160, rounded once: two factors, since 2**n itself may not be a normal number."""
    half = body.op("ashr", "i32", n, 1)
    for part in (half, body.op("sub", "i32", n, half)):
        bits = body.op("shl", "i32", body.op("add", "i32", part, 127), 23)
        x = body.op("fmul", "float", x, body.cast("bitcast", bits, "i32", "float"))
    return x


def exp_f32(body: Body, x: str) -> str:
    x = _clamp(body, "float", x, -105.0, 90.0)
    n, integer = _round_f32(body, body.op("fmul", "float", x, LOG2E))
    r = body.fma("float", n, -LN2_HIGH, x)
    r = body.fma("float", n, -LN2_LOW, r)
    square = body.op("fmul", "float", r, r)
    rest = body.fma("float", square, body.polynomial("float", r, EXP_F32), r)
    return _scale_f32(body, body.op("fadd", "float", rest, 1.0), integer)


def exp2_f32(body: Body, x: str) -> str:
    x = _clamp(body, "float", x, -151.0, 129.0)
    n, integer = _round_f32(body, x)
    r = body.op("fsub", "float", x, n)
    return _scale_f32(body, body.fma("float", r, body.polynomial("float", r, EXP2_F32), 1.0), integer)


def log_f32(body: Body, x: str) -> str:
    # Denormals become normal; then x = m * 2**e with m in sqrt(1/2)..sqrt(2).
    tiny = body.op("fcmp olt", "float", x, 1.17549435e-38)
    scaled = body.select(tiny, "float", body.op("fmul", "float", x, 8388608.0), x)
    bits = body.cast("bitcast", scaled, "float", "i32")
    above = body.op("sub", "i32", bits, 0x3F3504F3)  # of sqrt(1/2)
    exponent = body.op("ashr", "i32", above, 23)
    m = body.cast("bitcast", body.op("sub", "i32", bits, body.op("shl", "i32", exponent, 23)), "i32", "float")
    e = body.cast("sitofp", exponent, "i32", "float")
    e = body.op("fsub", "float", e, body.select(tiny, "float", 23.0, 0.0))
    f = body.op("fsub", "float", m, 1.0)
    square = body.op("fmul", "float", f, f)
    tail = body.op("fmul", "float", body.polynomial("float", f, LOG_F32), f)
    tail = body.op("fmul", "float", tail, square)
    tail = body.fma("float", e, LN2_LOW, tail)
    tail = body.fma("float", square, -0.5, tail)
    out = body.fma("float", e, LN2_HIGH, body.op("fadd", "float", f, tail))
    return _log_edges(body, "float", x, out)


def _log_edges(body: Body, element: str, x: str, out: str) -> str:
    out = body.select(body.op("fcmp oeq", element, x, INFINITY), element, INFINITY, out)
    out = body.select(body.op("fcmp oeq", element, x, 0.0), element, -INFINITY, out)
    return body.select(body.op("fcmp ult", element, x, 0.0), element, float("nan"), out)


# --- in f64 --------------------------------------------------------------------------------------------------------


def _exp_f64(body: Body, x: str) -> str:
    """e**x for |x| < 700."""
    magic = 6755399441055744.0  # 1.5 * 2**52
    shifted = body.fma("double", x, LOG2E, magic)
    n = body.op("fsub", "double", shifted, magic)
    r = body.fma("double", n, -LN2, x)
    r = body.fma("double", n, -2.3190468138462996e-17, r)
    square = body.op("fmul", "double", r, r)
    value = body.op("fadd", "double", body.fma("double", square, body.polynomial("double", r, EXP_F64), r), 1.0)
    bits = body.cast("bitcast", shifted, "double", "i64")
    power = body.op("shl", "i64", body.op("add", "i64", bits, 1023 - 0x4338000000000000), 52)
    return body.op("fmul", "double", value, body.cast("bitcast", power, "i64", "double"))


def _log_f64(body: Body, x: str) -> str:
    """log(x) for positive normal x."""
    bits = body.cast("bitcast", x, "double", "i64")
    above = body.op("sub", "i64", bits, 0x3FE6A09E667F3BCD)  # of sqrt(1/2)
    exponent = body.op("ashr", "i64", above, 52)
    m = body.cast("bitcast", body.op("sub", "i64", bits, body.op("shl", "i64", exponent, 52)), "i64", "double")
    e = body.cast("sitofp", exponent, "i64", "double")
    s = body.op("fdiv", "double", body.op("fsub", "double", m, 1.0), body.op("fadd", "double", m, 1.0))
    z = body.op("fmul", "double", s, s)
    cubic = body.op("fmul", "double", body.op("fmul", "double", s, z), body.polynomial("double", z, ATANH_F64))
    return body.fma("double", e, LN2, body.fma("double", s, 2.0, cubic))


def _log_times(factor: float) -> Function:
    def make(body: Body, x: str) -> str:
        out = _log_f64(body, x)
        return _log_edges(body, "double", x, body.op("fmul", "double", out, factor))

    return make


def _log1p(body: Body, x: str) -> str:
    whole = body.op("fadd", "double", x, 1.0)
    out = _log_edges(body, "double", whole, _log_f64(body, whole))
    # 1 + x drops bits of a small x.
    near = _times(body, x, body.fma("double", x, body.fma("double", x, 1 / 3, -0.5), 1.0))
    size = body.intrinsic("llvm.fabs", "double", x)
    return body.select(body.op("fcmp olt", "double", size, 2.0**-18), "double", near, out)


def _times(body: Body, a: str, b: str) -> str:
    return body.op("fmul", "double", a, b)


def _small_or(body: Body, x: str, bound: float, near: str, far: str) -> str:
    size = body.intrinsic("llvm.fabs", "double", x)
    return body.select(body.op("fcmp olt", "double", size, bound), "double", near, far)


def _expm1(body: Body, x: str) -> str:
    far = body.op("fadd", "double", _exp_f64(body, _clamp(body, "double", x, -104.0, 104.0)), -1.0)
    near = _times(body, x, body.fma("double", x, body.fma("double", x, 1 / 6, 0.5), 1.0))
    return _small_or(body, x, 2.0**-12, near, far)


def _tanh(body: Body, x: str) -> str:
    clamped = _clamp(body, "double", x, -20.0, 20.0)
    e = _exp_f64(body, body.op("fadd", "double", clamped, clamped))
    far = body.op("fdiv", "double", body.op("fadd", "double", e, -1.0), body.op("fadd", "double", e, 1.0))
    near = _times(body, x, body.fma("double", _times(body, x, x), -1 / 3, 1.0))
    return _small_or(body, x, 2.0**-9, near, far)


def _sinh(body: Body, x: str) -> str:
    e = _exp_f64(body, _clamp(body, "double", x, -104.0, 104.0))
    inverse = body.op("fdiv", "double", 1.0, e)
    far = body.op("fmul", "double", body.op("fsub", "double", e, inverse), 0.5)
    near = _times(body, x, body.fma("double", _times(body, x, x), 1 / 6, 1.0))
    return _small_or(body, x, 2.0**-9, near, far)


def _cosh(body: Body, x: str) -> str:
    e = _exp_f64(body, _clamp(body, "double", x, -104.0, 104.0))
    return body.op("fmul", "double", body.op("fadd", "double", e, body.op("fdiv", "double", 1.0, e)), 0.5)


def _erf(body: Body, x: str) -> str:
    x = _clamp(body, "double", x, -4.0, 4.0)
    u = body.fma("double", body.op("fmul", "double", x, x), 0.125, -1.0)
    return body.op("fmul", "double", x, body.polynomial("double", u, ERF_F64))


_IN_F32: dict[str, Function] = {"exp": exp_f32, "exp2": exp2_f32, "log": log_f32}
_IN_F64: dict[str, Function] = {
    "log2": _log_times(LOG2E),
    "log10": _log_times(0.4342944819032518),
    "log1p": _log1p,
    "expm1": _expm1,
    "tanh": _tanh,
    "sinh": _sinh,
    "cosh": _cosh,
    "erf": _erf,
}
FUNCTIONS = frozenset(_IN_F32) | frozenset(_IN_F64)


def call(emitter: Emitter, function: str, width: int, value: str) -> str:
    """One chunk of `function`, one of FUNCTIONS, of f32."""
    name = f"tile.{function}.f32.{width}"

    def make() -> str:
        body = Body(width, emitter.output)
        if function in _IN_F32:
            out = _IN_F32[function](body, "%x")
        else:
            wide = body.cast("fpext", "%x", "float", "double")
            out = body.cast("fptrunc", _IN_F64[function](body, wide), "double", "float")
        return body.function(name, "float", [("float", "%x")], out)

    type_ = types.vector(width, "float")
    return emitter.assign(f"call {type_} {emitter.output.helper(name, make)}({type_} {value})")
