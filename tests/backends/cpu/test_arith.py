"""arith, math and conversions on fragments of several widths, every element type, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.layout import coalesced

Array = np.ndarray[Any, Any]
FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64")
SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 65504.0, 3e38, 0.1]


def values(dtype: str, n: int, seed: int) -> Array:
    d, rng = DTYPES[dtype], np.random.default_rng(seed)
    if d.kind == "b":
        return rng.integers(0, 2, n).astype(np.bool_)
    if not d.is_float:
        info = np.iinfo(d.numpy)
        edges = [0, 1, -1, 2, info.max, info.min, 7, -7]
        out = rng.integers(info.min, info.max, n, dtype=np.int64, endpoint=True)
        rng.shuffle(edges)
        out[: len(edges)] = edges[: len(out)]
        return out.astype(d.numpy)
    out = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)
    special = rng.permutation(SPECIAL)
    out[: len(special)] = special[: len(out)]
    with np.errstate(all="ignore"):
        return out.astype(d.numpy)


def elementwise(cpu: Any, line: Callable[[str], str], types: list[str], result: str, block: int) -> Any:
    """A kernel `out[i] = op(in0[i], in1[i], ...)`; `line` gives the op for the vector type of a width."""
    layout = coalesced((block,), (0,), 16, 1)
    w = cpu.Writer(threads=32)
    views = [w.view(f"x{i}", t) for i, t in enumerate(types)]
    out = w.view("out", result, owned=True)
    w.line("%b = simt.block_id {axis = 0 : i64}")
    w.line(f"%n = arith.constant {block} : i64")
    w.line("%o = arith.muli %b, %n : i64")
    for i, (view, t) in enumerate(zip(views, types, strict=True)):
        w.load(f"v{i}", f"x{i}", view, ["%o"], layout, str(DTYPES[t].ir))
    w.line(line(f"{layout.registers}x"))
    w.store("r", "out", out, ["%o"], layout, str(DTYPES[result].ir))
    return w.compile()


def apply(
    cpu: Any, line: Callable[[str], str], inputs: list[Array], types: list[str], result: str, block: int
) -> Array:
    n = inputs[0].size
    out = cpu.guarded(np.zeros(n, DTYPES[result].numpy))
    program = elementwise(cpu, line, types, result, block)
    program(*map(cpu.guarded, inputs), out, grid=(-(-n // block),))
    return out


def vec(n: str, t: str) -> str:
    return f"vector<{n}{DTYPES[t].ir}>"


def same(actual: Array, expected: Array) -> None:
    """Equal, NaN being equal to NaN, zeros by their sign too."""
    if actual.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected)
        return
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(a, e)
    kept = ~np.isnan(e)
    np.testing.assert_array_equal(np.signbit(a[kept]), np.signbit(e[kept]))


BLOCKS = [32, 96, 512, 700]


@pytest.mark.parametrize("t", FLOATS)
@pytest.mark.parametrize(
    ("op", "ufunc"), [("addf", np.add), ("subf", np.subtract), ("mulf", np.multiply), ("divf", np.divide)]
)
def test_float(cpu: Any, op: str, ufunc: Any, t: str) -> None:
    x, y = values(t, 999, 1), values(t, 999, 2)
    with np.errstate(all="ignore"):
        expected = ufunc(x, y)
    for block in BLOCKS:
        same(apply(cpu, lambda n: f"%r = arith.{op} %v0, %v1 : {vec(n, t)}", [x, y], [t, t], t, block), expected)


@pytest.mark.parametrize("t", FLOATS)
@pytest.mark.parametrize(
    ("op", "ufunc"),
    [("maximumf", np.maximum), ("minimumf", np.minimum), ("maxnumf", np.fmax), ("minnumf", np.fmin)],
)
def test_extremes(cpu: Any, op: str, ufunc: Any, t: str) -> None:
    x, y = values(t, 500, 1), values(t, 500, 2)
    actual = apply(cpu, lambda n: f"%r = arith.{op} %v0, %v1 : {vec(n, t)}", [x, y], [t, t], t, 512)
    np.testing.assert_array_equal(actual.astype(np.float64), ufunc(x, y).astype(np.float64))


def trunc_div(a: Array, b: Array) -> Array:
    safe = np.where(b == 0, 1, b)
    with np.errstate(all="ignore"):
        q = (
            np.abs(a.astype(object))
            // np.abs(safe.astype(object))
            * np.sign(a.astype(object))
            * np.sign(safe.astype(object))
        )
    out = np.where(b == 0, 0, q)
    return wrap(out, a.dtype)


def wrap(x: Iterable[int], dtype: np.dtype[Any]) -> Array:
    bits = dtype.itemsize * 8
    half = 1 << (bits - 1)
    return np.array([(int(v) + half) % (1 << bits) - half for v in x], dtype)


def floor_div(a: Array, b: Array) -> Array:
    return wrap([0 if int(y) == 0 else int(x) // int(y) for x, y in zip(a, b, strict=True)], a.dtype)


def ceil_div(a: Array, b: Array) -> Array:
    return wrap([0 if int(y) == 0 else -(-int(x) // int(y)) for x, y in zip(a, b, strict=True)], a.dtype)


def rem(a: Array, b: Array) -> Array:
    q = [0 if int(y) == 0 else abs(int(x)) % abs(int(y)) * (1 if x >= 0 else -1) for x, y in zip(a, b, strict=True)]
    return wrap(q, a.dtype)


def unsigned(function: Callable[[int, int], int]) -> Callable[[Array, Array], Array]:
    def both(a: Array, b: Array) -> Array:
        u = np.dtype(f"u{a.dtype.itemsize}")
        return wrap([function(int(x), int(y)) for x, y in zip(a.view(u), b.view(u), strict=True)], a.dtype)

    return both


def shifted(kind: str) -> Callable[[Array, Array], Array]:
    def both(a: Array, b: Array) -> Array:
        bits, u = a.dtype.itemsize * 8, np.dtype(f"u{a.dtype.itemsize}")
        out = []
        for x, y in zip(a, b.view(u), strict=True):
            amount = min(int(y), bits)
            if kind == "shli":
                out.append(int(x) << amount)
            elif kind == "shrsi":
                out.append(int(x) >> amount)
            else:
                out.append((int(x) & ((1 << bits) - 1)) >> amount)
        return wrap(out, a.dtype)

    return both


INTEGER_OPS: dict[str, Callable[[Array, Array], Array]] = {
    "addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or,
    "xori": np.bitwise_xor, "maxsi": np.maximum, "minsi": np.minimum, "divsi": trunc_div, "remsi": rem,
    "floordivsi": floor_div, "ceildivsi": ceil_div,
    "divui": unsigned(lambda x, y: x // y if y else 0), "remui": unsigned(lambda x, y: x % y if y else 0),
    "ceildivui": unsigned(lambda x, y: -(-x // y) if y else 0),
    "maxui": unsigned(max), "minui": unsigned(min),
    "shli": shifted("shli"), "shrsi": shifted("shrsi"), "shrui": shifted("shrui"),
}  # fmt: skip


@pytest.mark.parametrize("op", INTEGER_OPS)
@pytest.mark.parametrize("t", INTEGERS)
def test_integer(cpu: Any, op: str, t: str) -> None:
    x, y = values(t, 300, 1), values(t, 300, 2)
    y[100:200] = y[100:200] % 11 - 5
    y[200:] = np.arange(100) % (DTYPES[t].bits + 3)
    x[:8] = np.iinfo(x.dtype).min
    with np.errstate(all="ignore"):
        expected = INTEGER_OPS[op](x, y)
    same(apply(cpu, lambda n: f"%r = arith.{op} %v0, %v1 : {vec(n, t)}", [x, y], [t, t], t, 96), expected)


@pytest.mark.parametrize("t", [*INTEGERS, *FLOATS])
def test_compare_and_select(cpu: Any, t: str) -> None:
    x, y = values(t, 300, 1), values(t, 300, 2)
    op, predicate = ("cmpf", 4) if t in FLOATS else ("cmpi", 2)

    def lines(n: str) -> str:
        v, b = vec(n, t), vec(n, "bool")
        return (
            f'%c = "arith.{op}"(%v0, %v1) <{{predicate = {predicate} : i64}}> : ({v}, {v}) -> {b}\n'
            f'%r = "arith.select"(%c, %v0, %v1) : ({b}, {v}, {v}) -> {v}'
        )

    same(apply(cpu, lines, [x, y], [t, t], t, 96), np.where(x < y, x, y))


@pytest.mark.parametrize("predicate", range(16))
def test_float_predicates(cpu: Any, predicate: int) -> None:
    x, y = values("f32", 300, 1), values("f32", 300, 2)
    unordered = np.isnan(x) | np.isnan(y)
    with np.errstate(invalid="ignore"):
        relation = [np.zeros(300, bool), x == y, x > y, x >= y, x < y, x <= y, (x != y) & ~unordered, ~unordered]
    relation += [r | unordered for r in (relation[1], relation[2], relation[3], relation[4], relation[5], relation[6])]
    relation += [unordered, np.ones(300, bool)]

    def line(n: str) -> str:
        v = vec(n, "f32")
        return f'%r = "arith.cmpf"(%v0, %v1) <{{predicate = {predicate} : i64}}> : ({v}, {v}) -> {vec(n, "bool")}'

    same(apply(cpu, line, [x, y], ["f32", "f32"], "bool", 512), relation[predicate])


@pytest.mark.parametrize("t", FLOATS)
def test_negation_and_absolute_value(cpu: Any, t: str) -> None:
    x = values(t, 99, 1)
    same(apply(cpu, lambda n: f"%r = arith.negf %v0 : {vec(n, t)}", [x], [t], t, 32), -x)
    same(apply(cpu, lambda n: f"%r = math.absf %v0 : {vec(n, t)}", [x], [t], t, 32), np.abs(x))
    y = values(t, 99, 2)
    actual = apply(cpu, lambda n: f"%r = math.copysign %v0, %v1 : {vec(n, t)}", [x, y], [t, t], t, 32)
    same(actual, np.copysign(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype))


# --- conversions ---------------------------------------------------------------------------------------------------


def convert(cpu: Any, op: str, x: Array, source: str, result: str) -> Array:
    line = lambda n: f"%r = arith.{op} %v0 : {vec(n, source)} to {vec(n, result)}"  # noqa: E731
    return apply(cpu, line, [x], [source], result, 512)


NARROW = ["f16", "bf16", "f8e4m3fn", "f8e5m2"]


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("t", [*NARROW, "f8e8m0fnu"])
def test_widening_is_exact_for_all_values(cpu: Any, t: str) -> None:
    d = DTYPES[t]
    x = np.arange(1 << d.bits, dtype=f"u{d.bytes}").view(d.numpy)
    same(convert(cpu, "extf", x, t, "f32"), x.astype(np.float32))
    same(convert(cpu, "extf", x, t, "f64"), x.astype(np.float64))


def near(t: str, n: int = 20000) -> Array:
    """f32 values at, just above and just below the midpoints of neighbours in a narrow type, and random ones."""
    d = DTYPES[t]
    codes = np.arange(1 << (d.bits - 1), dtype=f"u{d.bytes}").view(d.numpy).astype(np.float64)
    codes = codes[np.isfinite(codes)]
    middle = ((codes[1:] + codes[:-1]) / 2).astype(np.float32)
    if middle.size > n:
        middle = np.concatenate([middle[: n // 4], middle[:: middle.size // n], middle[-n // 4 :]])
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 1 << 32, n, dtype=np.uint64).astype(np.uint32)
    out = [middle, np.nextafter(middle, np.float32(np.inf)), np.nextafter(middle, np.float32(0)), bits.view(np.float32)]
    edge = np.array([np.inf, np.nan, 0.0, 464.0, 464.1, 480.0, 57344.0, 61439.9, 61440.0, 1e30, 1.0625001], np.float32)
    total = np.concatenate([*out, edge])
    return np.concatenate([total, -total])


@pytest.mark.parametrize("t", NARROW)
def test_narrowing_rounds_once_to_nearest_even(cpu: Any, t: str) -> None:
    x = near(t)
    with np.errstate(all="ignore"):
        expected = x.astype(DTYPES[t].numpy)
    same(convert(cpu, "truncf", x, "f32", t), expected)


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("t", NARROW)
def test_narrowing_f64_rounds_once(cpu: Any, t: str) -> None:
    # Just off a midpoint by less than f32 can tell: through f32 alone these would tie and go to even.
    middle = near(t).astype(np.float64)
    with np.errstate(all="ignore"):
        middle = middle[np.isfinite(middle) & (np.abs(middle) > 1e-37) & (np.abs(middle) < 1e37)]
    x = np.concatenate([middle * (1 + 2**-40), middle * (1 - 2**-40)])
    codes = np.arange(1 << DTYPES[t].bits, dtype=f"u{DTYPES[t].bytes}").view(DTYPES[t].numpy).astype(np.float64)
    finite = np.unique(codes[np.isfinite(codes)])
    inside = x[np.abs(x) < finite[-1]]
    at = np.searchsorted(finite, inside)
    low, high = finite[np.maximum(at - 1, 0)], finite[np.minimum(at, finite.size - 1)]
    expected = np.where(inside - low < high - inside, low, high)  # no ties are left
    actual = convert(cpu, "truncf", inside, "f64", t).astype(np.float64)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("t", ["f8e4m3fn", "f8e5m2"])
def test_all_f16_to_f8(cpu: Any, t: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        same(convert(cpu, "truncf", x, "f16", t), x.astype(DTYPES[t].numpy))


def test_bf16_products_round_once(cpu: Any) -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 16, (2, 1 << 18), dtype=np.uint32).astype(np.uint16)
    x, y = bits.view(ml_dtypes.bfloat16)
    with np.errstate(all="ignore"):
        expected = (x.astype(np.float64) * y.astype(np.float64)).astype(np.float32).astype(ml_dtypes.bfloat16)
    same(
        apply(cpu, lambda n: f"%r = arith.mulf %v0, %v1 : {vec(n, 'bf16')}", [x, y], ["bf16"] * 2, "bf16", 512),
        expected,
    )


@pytest.mark.parametrize("result", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_to_integer_saturates(cpu: Any, source: str, result: str) -> None:
    x = values(source, 300, 3)
    info = np.iinfo(DTYPES[result].numpy)
    wide = [float(v) for v in x]
    expected = [
        0
        if np.isnan(v)
        else max(info.min, min(info.max, int(v) if np.isfinite(v) else info.max * (1 if v > 0 else -2)))
        for v in wide
    ]
    same(convert(cpu, "fptosi", x, source, result), np.array(expected, DTYPES[result].numpy))


@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("source", INTEGERS)
def test_from_integer(cpu: Any, source: str, result: str) -> None:
    x = values(source, 300, 3)
    through = np.float32 if DTYPES[result].bits < 32 else DTYPES[result].numpy
    with np.errstate(all="ignore"):
        same(convert(cpu, "sitofp", x, source, result), x.astype(through).astype(DTYPES[result].numpy))
        u = x.view(f"u{x.dtype.itemsize}")
        same(convert(cpu, "uitofp", x, source, result), u.astype(through).astype(DTYPES[result].numpy))


def test_integer_widths(cpu: Any) -> None:
    x = values("i16", 99, 1)
    same(convert(cpu, "extsi", x, "i16", "i64"), x.astype(np.int64))
    same(convert(cpu, "extui", x, "i16", "i64"), x.view(np.uint16).astype(np.int64))
    same(convert(cpu, "trunci", x, "i16", "i8"), x.astype(np.int8))
    b = values("bool", 99, 1)
    same(convert(cpu, "extui", b, "bool", "i32"), b.astype(np.int32))
    y = values("f32", 99, 1)
    same(convert(cpu, "bitcast", y, "f32", "i32"), y.view(np.int32))
