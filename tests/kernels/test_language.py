"""What statements and expressions compute, against Python and NumPy."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Device

import tileopt
from tileopt import tile

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
EIGHTS = ["float8_e4m3fn", "float8_e5m2"]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def scalars(device: Device, kernel: Any, count: int, *arguments: object, dtype: str = "int64") -> list[float]:
    """What a kernel with one output of `count` elements leaves there."""
    out = device.empty(count, dtype)
    kernel[(1,)](out, *arguments)
    return list(device.get(out).tolist())


# Element types


@tile.kernel
def which_type(x: tile.In, out: tile.Out, GIVEN: tile.Const):
    tile.store(out, 0, x.dtype == tile.f16)
    tile.store(out, 1, x.dtype == "f16")
    tile.store(out, 2, "f16" == x.dtype)
    tile.store(out, 3, x.dtype == np.float16)
    tile.store(out, 4, not x.dtype != GIVEN)
    tile.store(out, 5, x.dtype in ("f32", "f16"))
    tile.store(out, 6, x.dtype not in (ml_dtypes.bfloat16, np.float32))
    tile.store(out, 7, (x.dtype, x.ndim) == ("f16", 1))
    tile.store(out, 8, ("f16", 1) in ((x.dtype, 2), (x.dtype, 1)))


@pytest.mark.parametrize("given", ["f16", tile.f16], ids=["name", "type"])
def test_element_types_compare_by_any_of_their_names(device: Device, given: object) -> None:
    for name in ("float16", "bfloat16", "int8"):
        found = scalars_of(device, name, given)
        assert found == [name == "float16"] * 5 + [name == "float16", name != "bfloat16"] + [name == "float16"] * 2


def scalars_of(device: Device, name: str, given: object) -> list[float]:
    out = device.empty(9, "bool")
    which_type[(1,)](device.put(np.zeros(1, dtype_of(name))), out, GIVEN=given)
    return [bool(v) for v in device.get(out)]


# Integers


@tile.kernel
def divide(x: tile.In, y: tile.In, quotient: tile.Out, remainder: tile.Out, up: tile.Out, N: tile.Const[int] = 64):
    a, b = tile.load(x, 0, N), tile.load(y, 0, N)
    tile.store(quotient, 0, a // b)
    tile.store(remainder, 0, a % b)
    if a.dtype != tile.f32 and a.dtype != tile.f64 and a.dtype != tile.f16:
        tile.store(up, 0, tile.cdiv(a, b))


@pytest.mark.parametrize("name", [*INTEGERS, "float32", "float64"])
def test_division_rounds_down(device: Device, rng: np.random.Generator, name: str) -> None:
    dtype = np.dtype(name)
    low = 0 if dtype.kind == "u" else -100
    x, y = rng.integers(low, 100, 64).astype(dtype), rng.integers(low // 10, 10, 64).astype(dtype)
    y[y == 0] = 3
    if dtype.kind == "i":
        x[0], y[0] = np.iinfo(dtype).min, -1
    if dtype.kind == "f":
        x, y = (x * dtype.type(1.37)).astype(dtype), (y * dtype.type(0.73)).astype(dtype)
    outs = [device.empty(64, dtype) for _ in range(3)]
    divide[(1,)](device.put(x), device.put(y), *outs)
    quotient, remainder, up = (device.get(o) for o in outs)
    with np.errstate(over="ignore"):
        if dtype.kind == "f":
            exact = [divmod(float(a), float(b)) for a, b in zip(x, y, strict=True)]
            np.testing.assert_array_equal(quotient, [q for q, _ in exact])
            np.testing.assert_allclose(remainder, [r for _, r in exact], rtol=1e-5, atol=1e-5)
            return
        np.testing.assert_array_equal(quotient, x // y)
    np.testing.assert_array_equal(remainder, x % y)
    exact_up = [-(-int(a) // int(b)) for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(up[1:], exact_up[1:])


EXTREMES = [0.0, -0.0, 1.0, -1.0, 1e-40, 0.3, -0.7, 3.0, 6.283185307179586, 5e4, -1e8, 1e9, 1e15, -3e30, 3.4e38]
EXTREMES += [math.inf, -math.inf, math.nan, 65504.0, 6e-8, -16777217.0]


@pytest.mark.parametrize("name", ["float32", "float64", "float16"])
def test_division_of_floats_of_any_size(device: Device, rng: np.random.Generator, name: str) -> None:
    """As NumPy's to the bit: large quotients, zeros of both signs, infinities and NaN."""
    with np.errstate(all="ignore"):
        single = np.array([*EXTREMES, *rng.standard_normal(11) * 10.0 ** rng.uniform(-30, 30, 11)]).astype(name)
        x, y = (v.reshape(-1).copy() for v in np.meshgrid(single, single))
        expected = np.floor_divide(x, y), np.mod(x, y)
    outs = [device.empty(1024, name) for _ in range(3)]
    divide[(1,)](device.put(x), device.put(y), *outs, N=1024)
    for out, wanted in zip(outs, expected, strict=False):
        found = device.get(out)
        np.testing.assert_array_equal(found, wanted)
        sure = ~np.isnan(wanted)  # a NaN's sign says nothing
        np.testing.assert_array_equal(np.signbit(found)[sure], np.signbit(wanted)[sure])


PAIRS = ((1e30, 3.0), (-1e30, 3.0), (1e15, 2 * math.pi), (-0.0, 1.0), (0.0, -1.0), (math.inf, 1.0), (5.0, -math.inf))


@tile.kernel
def known_and_not(values: tile.In, out: tile.Out):
    for i in tile.static_range(len(PAIRS)):
        a, b = tile.load(values, (i, 0), (1, 1)).item(), tile.load(values, (i, 1), (1, 1)).item()
        x, y = PAIRS[i]
        tile.store(out, 4 * i, tile.f64(a // b))
        tile.store(out, 4 * i + 1, tile.f64(x // y))
        tile.store(out, 4 * i + 2, tile.f64(a % b))
        tile.store(out, 4 * i + 3, tile.f64(x % y))


def test_known_division_of_floats_is_that_of_run_time(device: Device) -> None:
    out = device.empty(4 * len(PAIRS), "float64")
    known_and_not[(1,)](device.put(np.array(PAIRS)), out)
    found = device.get(out).reshape(len(PAIRS), 4)
    for column in (0, 2):
        np.testing.assert_array_equal(found[:, column], found[:, column + 1])
        numbers = found[~np.isnan(found[:, column])]
        np.testing.assert_array_equal(np.signbit(numbers[:, column]), np.signbit(numbers[:, column + 1]))


def test_division_by_zero_gives_zero(device: Device) -> None:
    x, y = np.arange(-32, 32), np.zeros(64, np.int64)
    outs = [device.empty(64, np.int64) for _ in range(3)]
    divide[(1,)](device.put(x), device.put(y), *outs)
    for out in outs:
        np.testing.assert_array_equal(device.get(out), 0)


@tile.kernel
def scalar_division(out: tile.Out, a: int, b: int):
    tile.store(out, 0, a // b)
    tile.store(out, 1, a % b)
    tile.store(out, 2, tile.cdiv(a, b))
    tile.store(out, 3, a // -3)
    tile.store(out, 4, a % -3)
    tile.store(out, 5, a // 8)
    tile.store(out, 6, a % 8)
    tile.store(out, 7, -7 // 2)
    tile.store(out, 8, -7 % 2)
    tile.store(out, 9, tile.cdiv(-36, 5))


@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (0, 5), (-36, 5), (6, 3), (-6, 3)])
def test_scalar_division(device: Device, a: int, b: int) -> None:
    got = scalars(device, scalar_division, 10, a, b)
    assert got == [a // b, a % b, -(-a // b), a // -3, a % -3, a // 8, a % 8, -4, 1, -7]


@tile.kernel
def bits(x: tile.In, y: tile.In, out: tile.Out, N: tile.Const[int] = 64):
    a, b = tile.load(x, 0, N), tile.load(y, 0, N)
    tile.store(out, (0, 0), (a & b)[None, :])
    tile.store(out, (1, 0), (a | b)[None, :])
    tile.store(out, (2, 0), (a ^ b)[None, :])
    tile.store(out, (3, 0), (~a)[None, :])
    tile.store(out, (4, 0), (a << b)[None, :])
    tile.store(out, (5, 0), (a >> b)[None, :])
    tile.store(out, (6, 0), (a >> 1)[None, :])
    tile.store(out, (7, 0), (a << 3)[None, :])
    tile.store(out, (8, 0), (-a)[None, :])
    tile.store(out, (9, 0), abs(a)[None, :])


@pytest.mark.parametrize("name", INTEGERS)
def test_bits(device: Device, rng: np.random.Generator, name: str) -> None:
    dtype = np.dtype(name)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, 64, dtype, endpoint=True)
    y = rng.integers(0, info.bits, 64, dtype)
    y[:4] = info.bits, info.bits + 1, info.max, 0
    out = device.empty((10, 64), dtype)
    bits[(1,)](device.put(x), device.put(y), out)

    def wrapped(values: list[int]) -> list[int]:
        return [(v - info.min) % (1 << info.bits) + info.min for v in values]

    a, b = [int(v) for v in x], [int(v) for v in y]
    pairs = list(zip(a, b, strict=True))
    wanted = [
        wrapped([p & q for p, q in pairs]),
        wrapped([p | q for p, q in pairs]),
        wrapped([p ^ q for p, q in pairs]),
        wrapped([~p for p in a]),
        wrapped([p << min(q, 64) for p, q in pairs]),
        wrapped([p >> min(q, 64) for p, q in pairs]),
        wrapped([p >> 1 for p in a]),
        wrapped([p << 3 for p in a]),
        wrapped([-p for p in a]),
        wrapped([abs(p) for p in a]),
    ]
    np.testing.assert_array_equal(device.get(out), np.array(wanted, dtype))


@tile.kernel
def unsigned_order(x: tile.In, y: tile.In, less: tile.Out, top: tile.Out, wide: tile.Out, N: tile.Const[int] = 64):
    a, b = tile.load(x, 0, N), tile.load(y, 0, N)
    tile.store(less, 0, a < b)
    tile.store(top, 0, tile.maximum(a, b))
    tile.store(wide, 0, tile.max(a).astype(tile.f64) + 0 * tile.zeros(1, tile.f64))


@pytest.mark.parametrize("name", INTEGERS)
def test_order_knows_the_sign(device: Device, rng: np.random.Generator, name: str) -> None:
    info = np.iinfo(name)
    x, y = (rng.integers(info.min, info.max, 64, name, endpoint=True) for _ in range(2))
    less, top, wide = device.empty(64, bool), device.empty(64, name), device.empty(1, "float64")
    unsigned_order[(1,)](device.put(x), device.put(y), less, top, wide)
    np.testing.assert_array_equal(device.get(less), x < y)
    np.testing.assert_array_equal(device.get(top), np.maximum(x, y))
    assert device.get(wide)[0] == float(x.max())


# Types


@tile.kernel
def cast(x: tile.In, out: tile.Out, N: tile.Const[int] = 64):
    tile.store(out, 0, tile.load(x, 0, N).astype(out.dtype))


@pytest.mark.parametrize("target", ["bool", "int8", "uint8", "int32", "uint32", "int64", *FLOATS, *EIGHTS])
@pytest.mark.parametrize("source", ["bool", "int8", "uint16", "int64", *FLOATS, "float8_e4m3fn"])
def test_casts(device: Device, rng: np.random.Generator, source: str, target: str) -> None:
    signed = dtype_of(source).kind != "u" and dtype_of(target).kind != "u"
    x = (rng.standard_normal(64) * 20 if signed else rng.random(64) * 60).astype(dtype_of(source))
    if source == "bool":
        x = rng.integers(0, 2, 64).astype(bool)
    x[:2] = 0
    out = device.empty(64, dtype_of(target))
    cast[(1,)](device.put(x), out)
    exact = x.astype(np.float64)
    wanted = exact != 0 if target == "bool" else exact.astype(dtype_of(target))
    np.testing.assert_array_equal(device.get(out), wanted)


def test_f32_rounds_once_to_8_bits(device: Device) -> None:
    x = np.full(64, 1.0625001, np.float32)
    out = device.empty(64, ml_dtypes.float8_e4m3fn)
    cast[(1,)](device.put(x), out)
    assert (device.get(out).astype(np.float64) == 1.125).all()


@tile.kernel
def mixed(b: tile.In, i: tile.In, h: tile.In, out: tile.Out, N: tile.Const[int] = 16):
    bools, ints, halves = tile.load(b, 0, N), tile.load(i, 0, N), tile.load(h, 0, N)
    tile.static_assert((bools + bools).dtype == tile.i32 and (ints + bools).dtype == tile.i32)
    tile.static_assert((ints * halves).dtype == tile.f16 and (halves + 1).dtype == tile.f16)
    tile.static_assert((ints / 2).dtype == tile.f32 and (ints + 0.5).dtype == tile.f32 and (ints + 1).dtype == tile.i32)
    tile.static_assert(tile.sum(halves).dtype == tile.f16 and tile.sum(bools).dtype == tile.i32)
    tile.store(out, 0, bools + ints * 0.5 + ints / 4 + (halves if True else 0) + bools.sum())


def test_types_meet(device: Device, rng: np.random.Generator) -> None:
    b, i = rng.integers(0, 2, 16).astype(bool), rng.integers(-9, 9, 16).astype(np.int32)
    h = rng.integers(-9, 9, 16).astype(np.float16)
    out = device.empty(16, np.float32)
    mixed[(1,)](device.put(b), device.put(i), device.put(h), out)
    np.testing.assert_array_equal(device.get(out), b + i * 0.5 + i / 4 + h + b.sum())


@tile.kernel
def scalar_types(out: tile.Out, flag: bool, small: tile.i8, real: float, n: int):
    tile.store(out, 0, tile.f64(flag))
    tile.store(out, 1, tile.f64(small * n))
    tile.store(out, 2, tile.f64(real / 3))
    tile.store(out, 3, tile.f64(int(real) + int(flag)))
    tile.store(out, 4, tile.f64(bool(n) + bool(0)))
    tile.store(out, 5, tile.f64(round(real)))
    tile.store(out, 6, tile.f64(max(n, 4, small) - min(n, real)))
    tile.store(out, 7, tile.f64(float(n) ** 2 + n**3))
    tile.store(out, 8, tile.f64(-n if not flag else divmod(n, 4)[1]))


def test_scalars(device: Device) -> None:
    got = scalars(device, scalar_types, 9, True, -3, -2.5, 7, dtype="float64")
    wanted = [1.0, -21.0, float(np.float32(-2.5) / np.float32(3)), -1.0, 1.0, -2.0, 9.5, 49.0 + 343.0, 3.0]
    assert got == wanted


# NaN


@tile.kernel
def with_nan(x: tile.In, out: tile.Out, N: tile.Const[int] = 8):
    a = tile.load(x, 0, N)
    checks = (
        a != a,
        a == a,
        a < 1,
        a >= 1,
        tile.isnan(a),
        tile.isnan(tile.maximum(a, 1)),
        tile.isnan(tile.minimum(1, a)),
    )
    for row, check in enumerate(checks):
        tile.store(out, (row, 0), check[None, :])


@tile.kernel
def scalar_nan(out: tile.Out, x: tile.In, N: tile.Const[int] = 8):
    a = tile.load(x, 0, N)
    top, least = tile.max(a), tile.min(a)
    tile.store(out, 0, top != top)
    tile.store(out, 1, least == least)
    tile.store(out, 2, max(top, 1.0) != max(1.0, top))
    tile.store(out, 3, not least < 1 and not least >= 1)


@pytest.mark.parametrize("name", [*FLOATS, *EIGHTS])
def test_nan(device: Device, name: str) -> None:
    x = np.arange(8).astype(dtype_of(name))
    x[3] = np.nan
    out = device.empty((7, 8), bool)
    with_nan[(1,)](device.put(x), out)
    plain = x.astype(np.float64)
    nan = np.isnan(plain)
    wanted = [plain != plain, plain == plain, plain < 1, plain >= 1, nan, nan, nan]
    np.testing.assert_array_equal(device.get(out), np.array(wanted))
    assert scalars(device, scalar_nan, 4, device.put(x), dtype="bool") == [True, False, True, True]


# Shapes


@tile.kernel
def shapes(x: tile.In, out: tile.Out):
    a = tile.load(x, (0, 0), (4, 6))
    b = a.T[None, :, :].transpose(2, 0, 1).reshape(2, 2, -1)
    tile.static_assert(b.shape == (2, 2, 6) and b.ndim == 3 and b.size == 24 and len(b) == 2)
    row = tile.sum(a, axis=0, keepdims=True)
    column = a.max(axis=-1)[:, None]
    total = a.reshape((24,)).expand_dims(0).broadcast_to((4, 24)).sum(axis=(0, 1))
    tile.store(out, (0, 0), b.reshape((4, 6)) * 1000 + row + column * 10 + total * 0.25)


def test_shapes(device: Device, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, (4, 6)).astype(np.float32)
    out = device.empty((4, 6), np.float32)
    shapes[(1,)](device.put(x), out)
    b = x.T[None].transpose(2, 0, 1).reshape(4, 6)
    wanted = b * 1000 + x.sum(0, keepdims=True) + x.max(1)[:, None] * 10 + x.sum()
    np.testing.assert_array_equal(device.get(out), wanted)


@tile.kernel
def one_column(out: tile.Out):
    tile.store(out, (0, 0), tile.zeros((16, 16)) + (tile.arange(16) == 0)[None, :])


def test_a_mask_along_one_axis(device: Device) -> None:
    out = device.empty((16, 16), np.float32)
    one_column[(1,)](out)
    wanted = np.zeros((16, 16))
    wanted[:, 0] = 1
    np.testing.assert_array_equal(device.get(out), wanted)


@tile.kernel
def padded(x: tile.In, out: tile.Out):
    for row, padding in enumerate(("zero", "neg_zero", "inf", "-inf", 7, -2.5)):
        tile.store(out, (row, 0), tile.load(x, 0, 8, padding=padding)[None, :])
    tile.store(out, (6, 0), tile.load_at(x, -2, 8, padding=1)[None, :])
    tile.store(out, (7, 0), tile.isnan(tile.load(x, 0, 8, padding="nan")).astype(tile.f32)[None, :])


def test_padding(device: Device) -> None:
    x = np.arange(1, 6, dtype=np.float32)
    out = device.empty((8, 8), np.float32)
    padded[(1,)](device.put(x), out)
    wanted = [[*x, p, p, p] for p in (0.0, -0.0, math.inf, -math.inf, 7, -2.5)]
    wanted += [[1, 1, *x, 1], [0, 0, 0, 0, 0, 1, 1, 1]]
    got = device.get(out)
    np.testing.assert_array_equal(got, np.array(wanted))
    assert np.signbit(got[1, 5:]).all() and not np.signbit(got[0]).any()


@tile.kernel
def at_offsets(x: tile.In, out: tile.Out, start: int):
    tile.store_at(out, start, tile.load_at(x, start + 1, 4) * 2)


@pytest.mark.parametrize("start", [-2, 0, 3, 8, 100])
def test_offsets_clip_at_both_ends(device: Device, start: int) -> None:
    x = np.arange(10, dtype=np.float32)
    out = device.empty(10, np.float32)
    if device.name == "cpu":
        out[:] = -1
    else:
        out.fill_(-1)
    at_offsets[(1,)](device.put(x), out, start)
    wanted = np.full(10, -1.0)
    for k in range(4):
        if 0 <= start + k < 10:
            source = start + 1 + k
            wanted[start + k] = 2 * x[source] if 0 <= source < 10 else 0
    np.testing.assert_array_equal(device.get(out), wanted)


# Loops and choices


@tile.kernel
def first_nonzero(out: tile.Out, x: tile.In, n: int):
    at = -1
    for i in range(n):
        if tile.load(x, i, 1).item() != 0:
            at = i
            break
    tile.store(out, 0, at)
    tile.store(out, 1, i)


@pytest.mark.parametrize("at", [0, 5, 19, None])
def test_find_the_first(device: Device, at: int | None) -> None:
    x = np.zeros(20, np.float32)
    if at is not None:
        x[at], x[19] = 1, 1
    got = scalars(device, first_nonzero, 2, device.put(x), 20)
    assert got == [-1 if at is None else at, 19 if at is None else at]


@tile.kernel
def last_values(out: tile.Out, n: int):
    for i in range(n):  # noqa: B007
        pass
    tile.store(out, 0, i)
    j = 100
    for j in range(n, -n, -3):  # noqa: B007
        pass
    tile.store(out, 1, j)
    k = 100
    for k in range(n, 0):  # noqa: B007
        pass
    tile.store(out, 2, k)
    for a in range(3, 10, 4):  # noqa: B007
        pass
    tile.store(out, 3, a)
    count = 0
    for b in range(0, 10, n):
        count += b
    tile.store(out, 4, count)
    for c in range(0, -10, -n):
        count += c
    tile.store(out, 5, count)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_loop_variable_keeps_its_last_value(device: Device, n: int) -> None:
    wanted = [n - 1, list(range(n, -n, -3))[-1], 100, 7, sum(range(0, 10, n))]
    wanted.append(wanted[4] + sum(range(0, -10, -n)))
    assert scalars(device, last_values, 6, n) == wanted


@tile.kernel
def any_step(out: tile.Out, start: int, stop: int, step: int):
    count, last = 0, 77
    for last in range(start, stop, step):  # noqa: B007
        count += 1
    tile.store(out, 0, count)
    tile.store(out, 1, last)


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, 7, 3), (7, 0, -3), (0, 7, -1), (7, 0, 1), (3, 3, 2), (-5, 6, 5)]
)
def test_a_step_of_either_sign(device: Device, start: int, stop: int, step: int) -> None:
    visited = list(range(start, stop, step))
    assert scalars(device, any_step, 2, start, stop, step) == [len(visited), [77, *visited][-1]]


def test_a_step_of_zero_runs_nothing(device: Device) -> None:
    assert scalars(device, any_step, 2, 0, 7, 0) == [0, 77]


@tile.kernel
def unused_carry(out: tile.Out, n: int):
    unused = 5
    used = 1
    for i in range(n):
        unused = unused * 3 + i
        if i % 2 == 1:
            used = used + i
    tile.store(out, 0, used)


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
def test_an_unused_carried_value_changes_nothing(device: Device, trips: int) -> None:
    assert scalars(device, unused_carry, 1, trips) == [1 + sum(range(1, trips, 2))]


@tile.kernel
def inside_only(out: tile.Out, n: int):
    count = 0
    step = 1
    for i in range(n):
        if step > 5:
            count += i
        step = step * 2 % 11
    tile.store(out, 0, count)


@pytest.mark.parametrize("n", [0, 1, 4, 20])
def test_a_variable_may_matter_to_the_next_iteration_only(device: Device, n: int) -> None:
    count, step = 0, 1
    for i in range(n):
        if step > 5:
            count += i
        step = step * 2 % 11
    assert scalars(device, inside_only, 1, n) == [count]


def two_exits(n: Any, stop: Any, end: Any) -> Any:
    total = 0
    for i in range(n):
        if i % 2 == 0:
            if i > stop:
                break
        else:
            if i > end:
                return -total
        total += i
    return total


def always_continues(n: Any, end: Any) -> Any:
    total = 0
    for i in range(n):
        if i % 3 == 0:
            total += 1
            continue
        elif i > end:
            return total
        else:
            total += i
            continue
    for j in (1, 2, 3):
        if total > j:
            total += j
            continue
        else:
            total -= j
            continue
    return total


def ends_by_return_only(n: Any, end: Any) -> Any:
    count = 0
    while True:
        n = n // 2
        if n <= end:
            return count, n
        count += 1


@tile.kernel
def several_exits(out: tile.Out, n: int, stop: int, end: int):
    tile.store(out, 0, two_exits(n, stop, end))
    tile.store(out, 1, always_continues(n, end))
    count, rest = ends_by_return_only(n, end)
    tile.store(out, 2, count * 100 + rest)


@pytest.mark.parametrize(
    ("n", "stop", "end"), [(20, 7, 99), (20, 99, 6), (20, 8, 8), (20, 99, 99), (0, 0, 0), (2, 0, 0)]
)
def test_several_exits_of_one_loop(device: Device, n: int, stop: int, end: int) -> None:
    count, rest = ends_by_return_only(n, end)
    wanted = [two_exits(n, stop, end), always_continues(n, end), count * 100 + rest]
    assert scalars(device, several_exits, 3, n, stop, end) == wanted


@tile.kernel
def run_length(out: tile.Out, x: tile.In):
    n = 0
    while tile.load(x, n, 1).item() > 0 and n < len(x):
        n += 1
    tile.store(out, 0, n)
    k = 0
    while (k := k + 2) < n:
        pass
    tile.store(out, 1, k)


@pytest.mark.parametrize("length", [0, 1, 6, 8])
def test_a_test_may_load_and_assign(device: Device, length: int) -> None:
    x = np.zeros(8, np.float32)
    x[:length] = 1
    assert scalars(device, run_length, 2, device.put(x)) == [length, max(2, length + length % 2)]


@tile.kernel
def persistent(x: tile.In, out: tile.Out, N: tile.Const[int] = 16):
    for i in range(tile.bid(0), tile.cdiv(len(x), N), tile.num_blocks(0)):
        tile.store(out, i, tile.load(x, i, N) * 2)


@pytest.mark.parametrize("blocks", [1, 3, 9, 20])
def test_a_persistent_loop_visits_each_tile_once(device: Device, rng: np.random.Generator, blocks: int) -> None:
    x = rng.standard_normal(9 * 16 - 5).astype(np.float32)
    out = device.empty(x.size, np.float32)
    persistent[(blocks,)](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), x * 2)


@tile.kernel
def collatz(out: tile.Out, start: int, limit: int):
    steps = 0
    n = start
    while n != 1:
        if steps == limit:
            tile.store(out, 0, -1)
            return
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    tile.store(out, 0, steps)


@pytest.mark.parametrize(("start", "limit", "steps"), [(1, 9, 0), (6, 99, 8), (27, 999, 111), (27, 50, -1)])
def test_return_from_a_loop_ends_the_kernel(device: Device, start: int, limit: int, steps: int) -> None:
    assert scalars(device, collatz, 1, start, limit) == [steps]


@tile.kernel
def logic(out: tile.Out, a: int, b: int):
    ok = b != 0 and a // b > 2
    tile.store(out, 0, 1 if ok else 0)
    tile.store(out, 1, a or b)
    tile.store(out, 2, a and b)
    tile.store(out, 3, (a or 7) + (not b))
    tile.store(out, 4, int(0 < a < b < 10))


@pytest.mark.parametrize(("a", "b"), [(0, 0), (0, 3), (9, 0), (9, 3), (10, 3), (2, 5)])
def test_logic(device: Device, a: int, b: int) -> None:
    wanted = [int(b != 0 and a // b > 2), a or b, a and b, (a or 7) + (not b), int(0 < a < b < 10)]
    assert scalars(device, logic, 5, a, b) == wanted


def clamp(x: Any, low: Any = 0, *, high: Any) -> Any:
    if x < low:
        return low
    elif x > high:
        return high
    return x


def search(n: Any, limit: Any) -> Any:
    last = 0
    for i in range(limit):
        for j in range(i):
            if i * j == n:
                return i, j
            if i * j > n:
                break
        last = i
    return -1, last


@tile.kernel
def helpers(out: tile.Out, n: int):
    tile.store(out, 0, clamp(n, high=10))
    tile.store(out, 1, clamp(high=4, x=n, low=-4))
    a, b = search(n, 9) if n > 0 else (0, 0)
    tile.store(out, 2, a)
    tile.store(out, 3, b)


@pytest.mark.parametrize("n", [-9, 0, 7, 12, 35, 1000])
def test_helpers(device: Device, n: int) -> None:
    found = search(n, 9) if n > 0 else (0, 0)
    assert scalars(device, helpers, 4, n) == [clamp(n, high=10), clamp(n, -4, high=4), *found]


@tile.kernel
def tiles_across_branches(x: tile.In, out: tile.Out, n: int, N: tile.Const[int] = 48):
    a = tile.load(x, 0, N)
    total = tile.zeros(N)
    for i in range(n):
        if i % 3 == 0:
            continue
        step = a * i
        if i > 5:
            step = -step
            if i == 8:
                total = total + 100
                break
        total = total + step
    tile.store(out, 0, total)


@pytest.mark.parametrize("n", [0, 1, 4, 7, 12])
def test_tiles_across_branches(device: Device, rng: np.random.Generator, n: int) -> None:
    x = rng.integers(-9, 9, 48).astype(np.float32)
    out = device.empty(48, np.float32)
    tiles_across_branches[(1,)](device.put(x), out, n)
    total = np.zeros(48)
    for i in range(n):
        if i % 3 == 0:
            continue
        step = x * i
        if i > 5:
            step = -step
            if i == 8:
                total = total + 100
                break
        total = total + step
    np.testing.assert_array_equal(device.get(out), total)


# Reductions and products


@tile.kernel
def reductions(out: tile.Out, x: tile.In, N: tile.Const[int]):
    a = tile.load(x, 0, N)
    tile.store(out, 0, tile.f64(a.sum()))
    tile.store(out, 1, tile.f64(a.max()))
    tile.store(out, 2, tile.f64(a.min()))
    tile.store(out, 3, tile.f64(tile.any(a > 5)))
    tile.store(out, 4, tile.f64(tile.all(a)))


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS, *EIGHTS])
@pytest.mark.parametrize("n", [1, 48, 257])
def test_reductions(device: Device, rng: np.random.Generator, name: str, n: int) -> None:
    x = rng.integers(0, 2 if name == "bool" else 4, n).astype(dtype_of(name))
    exact = x.astype(np.float64)
    total = float(exact.sum())
    if name in (*FLOATS, *EIGHTS):
        total = float(np.float64(total).astype(dtype_of(name)))
    got = scalars(device, reductions, 5, device.put(x), n, dtype="float64")
    assert got == [total, exact.max(), exact.min(), float((exact > 5).any()), float(exact.all())]


def test_sums_of_narrow_types(device: Device) -> None:
    x = np.full(4096, 0.1, np.float16)
    (total, *_) = scalars(device, reductions, 5, device.put(x), 4096, dtype="float64")
    assert abs(total - 4096 * float(np.float16(0.1))) <= 0.25
    assert scalars(device, reductions, 5, device.put(np.ones(256, bool)), 256, dtype="float64")[0] == 256


@tile.kernel
def chained(a: tile.In, b: tile.In, c: tile.In, out: tile.Out, N: tile.Const[int] = 64):
    x, y, z = (tile.load(a, (0, 0), (N, N)), tile.load(b, (0, 0), (N, N)), tile.load(c, (0, 0), (N, N)))
    tile.store(out, (0, 0), tile.mma(tile.transpose(tile.mma(x, y)).astype(tile.f16), z))


@tile.kernel
def multiply(x: tile.In, y: tile.In, out: tile.Out, N: tile.Const[int] = 4096):
    i = tile.bid(0)
    tile.store(out, i, tile.load(x, i, N) * tile.load(y, i, N))


@pytest.mark.parametrize("name", ["bfloat16", "float16", *EIGHTS])
def test_products_of_narrow_floats_round_to_nearest_even(device: Device, rng: np.random.Generator, name: str) -> None:
    bits = rng.integers(0, 256 if name in EIGHTS else 1 << 16, (2, 1 << 18))
    x, y = bits.astype(np.uint8 if name in EIGHTS else np.uint16).view(dtype_of(name))
    out = device.empty(x.size, x.dtype)
    multiply[(x.size // 4096,)](device.put(x), device.put(y), out)
    with np.errstate(all="ignore"):
        wanted = (x.astype(np.float64) * y.astype(np.float64)).astype(x.dtype)
    got = device.get(out)
    different = (got != wanted) & ~(np.isnan(got.astype(np.float64)) & np.isnan(wanted.astype(np.float64)))
    assert not different.any(), (x[different][:5], y[different][:5], got[different][:5], wanted[different][:5])


@tile.kernel
def columns(x: tile.In, out: tile.Out, total: tile.Out):
    tile.store(out, (0, 0), tile.load(x, 0, 4)[:, None].broadcast_to((4, 4)))
    tile.store(total, 0, tile.sum(tile.load(x, 0, 256)))


def test_a_column_repeats_and_padding_adds_nothing(device: Device) -> None:
    x = np.arange(16, dtype=np.float32)
    out, total = device.empty((4, 4), np.float32), device.empty(1, np.float32)
    columns[(1,)](device.put(x), out, total)
    np.testing.assert_array_equal(device.get(out), np.repeat(np.arange(4), 4).reshape(4, 4))
    assert device.get(total)[0] == 120


def test_a_product_of_a_product(device: Device, rng: np.random.Generator) -> None:
    a, b, c = (rng.integers(-2, 3, (64, 64)).astype(np.float16) for _ in range(3))
    out = device.empty((64, 64), np.float32)
    chained[(1,)](device.put(a), device.put(b), device.put(c), out)
    inner = (a.astype(np.float64) @ b.astype(np.float64)).T
    np.testing.assert_array_equal(device.get(out), inner @ c.astype(np.float64))


# Functions

FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "erf": np.vectorize(math.erf), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "abs": np.abs, "round": np.round,
}  # fmt: skip


def applied(function: Any) -> Any:
    @tile.kernel
    def apply(x: tile.In, out: tile.Out, N: tile.Const[int] = 96):
        tile.store(out, 0, function(tile.load(x, 0, N, padding=1)))

    return apply


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_functions(device: Device, rng: np.random.Generator, name: str, dtype: str) -> None:
    x = (rng.random(96) * 4 + 0.1).astype(dtype_of(dtype))
    if name not in ("log", "log2", "sqrt", "rsqrt"):
        x[::2] = -x[::2]
    out = device.empty(96, x.dtype)
    applied(getattr(tile, name))[(1,)](device.put(x), out)
    wanted = FUNCTIONS[name](x.astype(np.float64))
    steps = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-21, "float64": 2.0**-48}[dtype]
    np.testing.assert_allclose(device.get(out).astype(np.float64), wanted, rtol=steps, atol=steps)


@tile.kernel
def powers(x: tile.In, out: tile.Out, y: float, N: tile.Const[int] = 32):
    a = tile.load(x, 0, N)
    rows = (a**2, a**3, a**0, a**0.5, a**y, tile.pow(2.0, a), tile.fma(a, a, 1), a**-1)
    for row, value in enumerate(rows):
        tile.store(out, (row, 0), value[None, :])


def test_powers(device: Device, rng: np.random.Generator) -> None:
    x = (rng.random(32) * 3 + 0.1).astype(np.float32)
    out = device.empty((8, 32), np.float32)
    powers[(1,)](device.put(x), out, 1.7)
    a = x.astype(np.float64)
    wanted = [a**2, a**3, a**0, a**0.5, a ** np.float64(np.float32(1.7)), 2.0**a, a * a + 1, 1 / a]
    np.testing.assert_allclose(device.get(out), wanted, rtol=3e-6)


@tile.kernel
def grid_sizes(out: tile.Out):
    i, j, k = tile.bid(0), tile.bid(1), tile.bid(2)
    size = tile.num_blocks(0) * 100 + tile.num_blocks(1) * 10 + tile.num_blocks(2)
    tile.store(out, (i, j, k), size * 1000 + i * 100 + j * 10 + k)


def test_the_grid(device: Device) -> None:
    out = device.empty((2, 3, 4), np.int64)
    grid_sizes[(2, 3, 4)](out)
    i, j, k = np.indices((2, 3, 4))
    np.testing.assert_array_equal(device.get(out), 234000 + i * 100 + j * 10 + k)


def test_host_side_of_cdiv() -> None:
    assert tile.cdiv(-36, 5) == tileopt.cdiv(-36, 5) == -7 and tile.cdiv(10, 5) == 2
