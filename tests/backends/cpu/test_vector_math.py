"""The CPU's math functions: f32 against NumPy's f64, in units of the last place, and f64 against the C library."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.layout import coalesced

Array = np.ndarray[Any, Any]


def _vec(f: Callable[..., float]) -> Callable[..., Array]:
    def one(*args: float) -> float:
        try:
            return f(*args)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return np.vectorize(one, otypes=[np.float64])


UNARY: dict[str, tuple[Callable[..., Array], float]] = {
    # function: reference in f64, bound in ulp of f32
    "exp": (np.exp, 1.1), "exp2": (np.exp2, 1.0), "log": (np.log, 1.0), "log2": (np.log2, 0.6),
    "log10": (np.log10, 0.6), "log1p": (np.log1p, 0.6), "expm1": (np.expm1, 0.6), "tanh": (np.tanh, 0.6),
    "sinh": (np.sinh, 0.6), "cosh": (np.cosh, 0.6), "erf": (_vec(math.erf), 0.6), "sin": (np.sin, 1.0),
    "cos": (np.cos, 1.0), "tan": (np.tan, 2.0), "asin": (np.arcsin, 2.0), "acos": (np.arccos, 2.0),
    "atan": (np.arctan, 2.0), "asinh": (np.arcsinh, 2.0), "acosh": (np.arccosh, 2.0), "atanh": (np.arctanh, 2.0),
    "cbrt": (np.cbrt, 2.0), "sqrt": (np.sqrt, 0.51), "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5), "floor": (np.floor, 0.0),
    "ceil": (np.ceil, 0.0), "trunc": (np.trunc, 0.0), "roundeven": (np.rint, 0.0),
    "round": (lambda x: np.trunc(x + np.copysign(0.5, x)), 0.0),
}  # fmt: skip


def apply(cpu: Any, line: str, inputs: list[Array], dtype: str) -> Array:
    layout = coalesced((1024,), (0,), 16, 1)
    e = str(DTYPES[dtype].ir)
    w = cpu.Writer(threads=32)
    views = [
        w.view(f"x{i}", str(next(n for n, d in DTYPES.items() if d.numpy == x.dtype))) for i, x in enumerate(inputs)
    ]
    out = w.view("out", dtype, owned=True)
    w.line("%b = simt.block_id {axis = 0 : i64}")
    w.line("%n = arith.constant 1024 : i64")
    w.line("%o = arith.muli %b, %n : i64")
    for i, (view, x) in enumerate(zip(views, inputs, strict=True)):
        kind = next(d for d in DTYPES.values() if d.numpy == x.dtype)
        w.load(f"v{i}", f"x{i}", view, ["%o"], layout, str(kind.ir))
    w.line(line.replace("T", f"vector<{layout.registers}x{e}>").replace("N", str(layout.registers)))
    w.store("r", "out", out, ["%o"], layout, e)
    result = np.zeros(inputs[0].size, DTYPES[dtype].numpy)
    w.compile()(*inputs, result, grid=(-(-result.size // 1024),))
    return result


def ulps(actual: Array, exact: Array) -> Array:
    """Distance in units of the last place of f32 at the exact value."""
    with np.errstate(all="ignore"):
        nearest = exact.astype(np.float32)
    same = (actual == nearest) | (np.isnan(actual) & np.isnan(exact))
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(exact)
        unit = np.ldexp(1.0, np.maximum(exponent - 24, -149))
        distance = np.abs(actual.astype(np.float64) - exact) / unit
    return np.where(same, 0.0, np.where(np.isfinite(distance), distance, np.inf))


EXTENDED = np.longdouble


def interpolated(f: Callable[[Array], Array], low: float, high: float, degree: int) -> Array:
    """Coefficients of the polynomial that meets f at the Chebyshev nodes of an interval, in extended precision."""
    k = np.arange(degree + 1, dtype=EXTENDED)
    u = np.cos((2 * k + 1) * EXTENDED("3.14159265358979323846264338327950288") / (2 * (degree + 1)))
    x = (u * (EXTENDED(high) - EXTENDED(low)) + (EXTENDED(high) + EXTENDED(low))) / 2
    divided = f(x)
    for j in range(1, degree + 1):
        divided[j:] = (divided[j:] - divided[j - 1 : -1]) / (x[j:] - x[: degree + 1 - j])
    out = np.zeros(degree + 1, EXTENDED)
    for j in range(degree, -1, -1):
        out = np.concatenate([[divided[j]], out[:-1]]) - np.concatenate([x[j] * out[:-1], [EXTENDED(0)]])
    return out


def _series(terms: Callable[[int, Array], Array], x: Array) -> Array:
    return sum((terms(k, x) for k in range(40)), np.zeros_like(x))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="needs extended precision")
def test_the_coefficients_can_be_computed_again() -> None:
    from tileopt.backends.cpu import vector_math as m

    ln2 = np.log(EXTENDED(2))
    half = ln2 / 2 * EXTENDED(1.0005)
    factorial = [EXTENDED(math.factorial(k)) for k in range(45)]
    exp_rest = lambda r: _series(lambda k, x: x**k / factorial[k + 2], r)  # noqa: E731
    exp2_rest = lambda r: _series(lambda k, x: ln2 ** (k + 1) * x**k / factorial[k + 1], r)  # noqa: E731
    atanh_rest = lambda z: 2 * _series(lambda k, x: x**k / (2 * k + 3), z)  # noqa: E731
    edge = ((np.sqrt(EXTENDED(2)) - 1) / (np.sqrt(EXTENDED(2)) + 1)) ** 2
    near = lambda ours, fit, bits: np.testing.assert_allclose(ours, fit.astype(float), rtol=2.0**-bits)  # noqa: E731
    near(m.EXP_F32, interpolated(exp_rest, -half, half, 4), 23)
    near(m.EXP2_F32, interpolated(exp2_rest, -0.5005, 0.5005, 5), 23)
    near(m.EXP_F64, interpolated(exp_rest, -half, half, 9), 30)
    near(m.ATANH_F64, interpolated(atanh_rest, 0, edge, 6), 30)


def every(step: int) -> Array:
    """Each `step`-th f32 by its bits, both signs, and the edges."""
    bits = np.arange(0, 1 << 31, step, dtype=np.int64)
    bits = np.concatenate([bits, 0x7F800000 - np.arange(-3, 40), np.arange(40), 0x3F800000 + np.arange(-40, 40)])
    x = bits.astype(np.uint32).view(np.float32)
    return np.concatenate([x, -x])


@pytest.mark.parametrize("name", UNARY)
def test_f32(cpu: Any, name: str) -> None:
    reference, bound = UNARY[name]
    x = every(16411 if name != "erf" else 32771)
    dense = np.random.default_rng(1).uniform(-1, 1, 1 << 16) * 10.0 ** np.random.default_rng(2).uniform(-3, 2, 1 << 16)
    x = np.concatenate([x, dense.astype(np.float32)])
    if name == "round":  # x + 0.5 is exact in f64 for these
        x = x[np.abs(x) < 1e15]
    actual = apply(cpu, f"%r = math.{name} %v0 : T", [x], "f32")
    with np.errstate(all="ignore"):
        exact = reference(x.astype(np.float64))
    distance = ulps(actual, exact)
    zero = exact == 0
    np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(exact[zero]))
    worst = int(np.argmax(distance))
    assert distance[worst] <= bound, (x[worst], actual[worst], exact[worst], distance[worst])


@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("rsqrt",)])
def test_f64(cpu: Any, name: str) -> None:
    x = np.concatenate([np.random.default_rng(1).normal(0, 3, 3000), [0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e300]])
    actual = apply(cpu, f"%r = math.{name} %v0 : T", [x], "f64")
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(actual, UNARY[name][0](x), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_narrow_types_compute_in_f32(cpu: Any, dtype: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(DTYPES[dtype].numpy)
    for name in ("exp", "tanh", "sqrt", "sin"):
        with np.errstate(all="ignore"):
            expected = UNARY[name][0](x.astype(np.float64)).astype(np.float32).astype(x.dtype)
        actual = apply(cpu, f"%r = math.{name} %v0 : T", [x], dtype)
        with np.errstate(all="ignore"):
            apart = np.abs(actual.view(np.int16).astype(np.int32) - expected.view(np.int16))
        apart[np.isnan(expected.astype(np.float32)) & np.isnan(actual.astype(np.float32))] = 0
        assert apart.max() <= 1 and np.mean(apart > 0) < 0.001, name


def test_pow_and_atan2(cpu: Any) -> None:
    rng = np.random.default_rng(4)
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, 3, -3, np.inf, -np.inf, np.nan], np.float32)
    x = np.concatenate([np.repeat(special, special.size), rng.lognormal(0, 3, 5000).astype(np.float32)])
    y = np.concatenate([np.tile(special, special.size), rng.normal(0, 3, 5000).astype(np.float32)])
    with np.errstate(all="ignore"):
        assert ulps(apply(cpu, "%r = math.powf %v0, %v1 : T", [x, y], "f32"), np.power(x.astype(float), y)).max() <= 2
        assert (
            ulps(apply(cpu, "%r = math.atan2 %v0, %v1 : T", [y, x], "f32"), np.arctan2(y.astype(float), x)).max() <= 2
        )


def test_integer_powers(cpu: Any) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(0, 2, 4000).astype(np.float32)
    n = rng.integers(-20, 21, 4000).astype(np.int32)
    n[:2] = [1 << 30, -(1 << 30)]
    x[:2] = [-1.0, 1.0]
    actual = apply(cpu, "%r = math.fpowi %v0, %v1 : T, vector<Nxi32>", [x, n], "f32")
    assert ulps(actual, np.power(x.astype(float), n)).max() <= 1
    a, b = rng.integers(-5, 6, 4000).astype(np.int32), rng.integers(-3, 31, 4000).astype(np.int32)
    a[:4], b[:4] = [1, -1, -1, 0], [-2, -3, -2, -1]
    actual = apply(cpu, "%r = math.ipowi %v0, %v1 : T", [a, b], "i32")
    with np.errstate(all="ignore"):
        expected = [0 if abs(int(p)) != 1 and int(q) < 0 else int(p) ** abs(int(q)) for p, q in zip(a, b, strict=True)]
    np.testing.assert_array_equal(actual, np.array([(v + (1 << 31)) % (1 << 32) - (1 << 31) for v in expected]))


def test_fma_rounds_once(cpu: Any) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.normal(0, 1, 4000).astype(np.float32) for _ in range(2))
    c = (-(a * b)).astype(np.float32)
    exact = a.astype(np.float64) * b + c
    np.testing.assert_array_equal(
        apply(cpu, "%r = math.fma %v0, %v1, %v2 : T", [a, b, c], "f32"), exact.astype(np.float32)
    )


def test_bit_counts(cpu: Any) -> None:
    x = np.concatenate([np.random.default_rng(1).integers(-(1 << 31), 1 << 31, 500), [0, -1, 1, -(1 << 31)]]).astype(
        np.int32
    )
    bits = [f"{int(v) & 0xFFFFFFFF:032b}" for v in x]
    np.testing.assert_array_equal(apply(cpu, "%r = math.ctpop %v0 : T", [x], "i32"), [b.count("1") for b in bits])
    np.testing.assert_array_equal(
        apply(cpu, "%r = math.ctlz %v0 : T", [x], "i32"), [len(b) - len(b.lstrip("0")) for b in bits]
    )
    np.testing.assert_array_equal(
        apply(cpu, "%r = math.cttz %v0 : T", [x], "i32"), [len(b) - len(b.rstrip("0")) for b in bits]
    )
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(apply(cpu, "%r = math.absi %v0 : T", [x], "i32"), np.abs(x))
