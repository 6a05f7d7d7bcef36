"""Packed values of four bits in kernels, against NumPy: unpacked, packed, and as operands of products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from packed_programs import (
    Array,
    pack_rows,
    packed_along_rows,
    plain_f4,
    repeat_rows,
    unpack_rows,
    unpacked,
    weights_left,
    weights_right,
)

import tileopt
from tileopt import tile

BF16 = np.dtype(ml_dtypes.bfloat16)
KINDS = ["i4", "u4", "f4e2m1fn"]
TARGETS = ["cpu", "cpu-check", "model:sm_75", "model:sm_80", "model:sm_90a", "model:sm_120a"]
RESULTS = [np.float16, BF16, np.float32, np.float64, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


def packed_bytes(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.integers(0, 256, shape).astype(np.uint8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("target", TARGETS)
def test_unpack(rng: np.random.Generator, kind: str, axis: int, target: str) -> None:
    x = packed_bytes(rng, (37, 50))
    blocks = ((16, 32), (5, 24), (1, 64), (64, 1), (16, 16), (32, 32))
    pairs = list(zip(blocks, RESULTS, strict=True))
    for block, result in pairs if target == "cpu" else pairs[axis::2]:
        shape = tuple(n * (2 if a == axis else 1) for a, n in enumerate(x.shape))
        out = np.zeros(shape, result)
        unpack_rows[-(-37 // block[0]), -(-50 // block[1])](x, out, kind, axis, *block, target=target)
        want = unpacked(x, kind, axis)
        np.testing.assert_array_equal(out.astype(np.float64), want.astype(result).astype(np.float64))
        np.testing.assert_array_equal(np.signbit(out.astype(np.float64)), np.signbit(want))


@pytest.mark.parametrize("kind", ["i4", "u4"])
def test_integers_stay_integers(rng: np.random.Generator, kind: str) -> None:
    x = packed_bytes(rng, (20, 33))
    for result in (np.int8, np.int32, np.uint8, np.int64):
        out = np.zeros((20, 66), result)
        unpack_rows[2, 2](x, out, kind, 1, 16, 32)
        np.testing.assert_array_equal(out, unpacked(x, kind).astype(np.int64).astype(result))


@pytest.mark.parametrize("source", [np.float16, BF16, np.float32, np.float64, ml_dtypes.float8_e4m3fn])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("target", TARGETS)
def test_pack_floats(rng: np.random.Generator, source: Any, axis: int, target: str) -> None:
    x = (rng.standard_normal((46, 70)) * 3).astype(np.float16).astype(source)
    out = np.zeros((23, 70) if axis == 0 else (46, 35), np.uint8)
    pack_rows[3, 3](x, out, "f4e2m1fn", axis, 16, 32, target=target)
    want = x.astype(np.float32).astype(ml_dtypes.float4_e2m1fn).astype(np.float64)
    np.testing.assert_array_equal(unpacked(out, "f4e2m1fn", axis), want)
    np.testing.assert_array_equal(np.signbit(unpacked(out, "f4e2m1fn", axis)), np.signbit(want))


@pytest.mark.parametrize("kind", ["i4", "u4"])
@pytest.mark.parametrize("source", [np.int8, np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("target", ["cpu", "model:sm_90a"])
def test_pack_integers(rng: np.random.Generator, kind: str, source: Any, target: str) -> None:
    x = rng.integers(0, 100, (21, 60)).astype(source)
    out = np.zeros((21, 30), np.uint8)
    pack_rows[2, 2](x, out, kind, 1, 16, 32, target=target)
    want = x.astype(np.int64) & 15
    np.testing.assert_array_equal(out, want[:, 0::2] | want[:, 1::2] << 4)


@tile.kernel
def there_and_back(x: tile.In, out: tile.Out, KIND: tile.Const[str], N: tile.Const[int]):
    i = tile.bid(0)
    tile.store(out, i, tile.pack(tile.unpack(tile.load(x, i, N), KIND)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", TARGETS)
def test_every_byte_comes_back(kind: str, target: str) -> None:
    x, out = np.arange(256, dtype=np.uint8), np.zeros(256, np.uint8)
    there_and_back[3](x, out, kind, 96, target=target)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 32])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("target", ["cpu", "cpu-check", "model:sm_80", "model:sm_90a"])
def test_repeat(rng: np.random.Generator, count: int, axis: int, target: str) -> None:
    for shape in ((5, 7), (16, 8), (1, 3)):
        x = rng.standard_normal(shape).astype(np.float32)
        want = np.repeat(x, count, axis)
        out = np.zeros_like(want)
        repeat_rows[1, 1](x, out, count, axis, *shape, target=target)
        np.testing.assert_array_equal(out, want)


# Products. Operands are small integers and quarters, so that sums in f32 are exact in any order.


def quarters(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    return (rng.integers(-16, 17, shape) / 4).astype(dtype)


PRODUCT_TARGETS = ["cpu", "cpu-check", "model:sm_75", "model:sm_80", "model:sm_90a", "model:sm_120a"]
BLOCKS = [("i4", (64, 64, 64)), ("f4e2m1fn", (128, 96, 64)), ("u4", (48, 40, 32))]


@pytest.mark.parametrize(("kind", "block"), BLOCKS)
@pytest.mark.parametrize("target", PRODUCT_TARGETS)
def test_weights_on_the_left(rng: np.random.Generator, kind: str, block: tuple[int, int, int], target: str) -> None:
    m, n, k = 150, 72, 224
    w, x = packed_bytes(rng, (m, k // 2)), quarters(rng, (k, n), BF16)
    out = np.full((m, n), 77, np.float32)
    weights_left[-(-m // block[0]), -(-n // block[1])](w, x, out, kind, *block, target=target)
    np.testing.assert_array_equal(out, unpacked(w, kind) @ x.astype(np.float64))


@pytest.mark.parametrize(("kind", "block"), BLOCKS)
@pytest.mark.parametrize("target", PRODUCT_TARGETS)
def test_weights_with_scales_on_the_right(
    rng: np.random.Generator, kind: str, block: tuple[int, int, int], target: str
) -> None:
    m, n, k, group = 150, 72, 224, 32
    w, x = packed_bytes(rng, (n, k // 2)), quarters(rng, (m, k), BF16)
    s = np.exp2(rng.integers(-2, 3, (n, k // group))).astype(BF16)
    out = np.full((m, n), 77, np.float32)
    weights_right[-(-m // block[0]), -(-n // block[1])](x, w, s, out, kind, group, *block, target=target)
    right = unpacked(w, kind) * np.repeat(s.astype(np.float64), group, 1)
    np.testing.assert_array_equal(out, x.astype(np.float64) @ right.T)


@pytest.mark.parametrize("kind", ["i4", "f4e2m1fn"])
@pytest.mark.parametrize("target", PRODUCT_TARGETS)
def test_weights_packed_along_rows(rng: np.random.Generator, kind: str, target: str) -> None:
    m, n, k = 70, 130, 110
    w, x = packed_bytes(rng, (k // 2, n)), quarters(rng, (m, k), np.float16)
    out = np.full((m, n), 77, np.float32)
    packed_along_rows[2, 3](x, w, out, kind, 64, 64, 32, target=target)
    np.testing.assert_array_equal(out, x.astype(np.float64) @ unpacked(w, kind, 0))


@pytest.mark.parametrize("target", PRODUCT_TARGETS)
def test_products_of_f4(rng: np.random.Generator, target: str) -> None:
    m, n, k = 70, 50, 160
    x, w = packed_bytes(rng, (m, k // 2)), packed_bytes(rng, (n, k // 2))
    out = np.full((m, n), 77, np.float32)
    plain_f4[2, 1](x, w, out, 64, 64, 64, target=target)
    np.testing.assert_array_equal(out, unpacked(x, "f4e2m1fn") @ unpacked(w, "f4e2m1fn").T)


def compiled(kernel: Any, target: str, **constants: Any) -> Any:
    shapes = {"w": "u8[?:16, ?:16]", "x": "bf16[?:16, ?:16]", "s": "bf16[?:16, ?:16]", "out": "f32[?:16, ?:16]"}
    names = [p.name for p in kernel.parameters if p.name in shapes]
    return kernel.compile(target, **{name: shapes[name] for name in names}, **constants)


@pytest.mark.parametrize("kernel", [weights_left, weights_right], ids=lambda k: str(k.name))
def test_packed_weights_come_by_the_copy_engine(kernel: Any) -> None:
    group = {"GROUP": 64} if kernel is weights_right else {}
    made = compiled(kernel, "sm_90a", KIND="i4", BM=128, BN=128, BK=64, **group)
    copied = {name for channel in made.report["channels"] for name in channel["arrays"] if "TMA" in channel["by"]}
    assert {"w", "x"} <= copied and made.report["atoms"] == ["wgmma_m64n128k16_bf16_f32"]
    assert made.report["spill_stores"] == 0


# What is refused.


@tile.kernel
def not_bytes(x: tile.In, out: tile.Out):
    tile.store(out, 0, tile.unpack(tile.load(x, 0, 32), tile.i4).astype(tile.f32))


@tile.kernel
def not_packed(x: tile.In, out: tile.Out):
    tile.store(out, 0, tile.unpack(tile.load(x, 0, 32), tile.i8).astype(tile.f32))


@tile.kernel
def computed(x: tile.In, out: tile.Out):
    tile.store(out, 0, (tile.unpack(tile.load(x, 0, 32), tile.i4) + 1).astype(tile.f32))


@tile.kernel
def cast_to(x: tile.In, out: tile.Out):
    tile.store(out, 0, tile.load(x, 0, 32).astype(tile.i4))


@tile.kernel
def filled(x: tile.In, out: tile.Out):
    tile.store(out, 0, tile.zeros((32,), tile.f4e2m1fn).astype(tile.f32))


@tile.kernel
def no_pairs(x: tile.In, out: tile.Out):
    tile.store(out, 0, tile.pack(tile.load(x, 0, 33), tile.i4))


@tile.kernel
def floats_as_i4(x: tile.In, out: tile.Out):
    tile.store(out, 0, tile.pack(tile.load(x, 0, 32).astype(tile.f32), tile.i4))


@tile.kernel
def untyped(x: tile.In, out: tile.Out):
    tile.store(out, 0, tile.pack(tile.load(x, 0, 32)))


@tile.kernel
def of_scalars(x: tile.In, out: tile.Out):
    tile.store(out, 0, tile.repeat(tile.load(x, 0, 32), 0))


@pytest.mark.parametrize(
    ("kernel", "x", "code", "word"),
    [
        (not_bytes, "i16[?]", "type/packed", "a tile of bytes"),
        (not_packed, "u8[?]", "type/packed", "i8 values are not packed"),
        (computed, "u8[?]", "type/packed", "of i4 values"),
        (cast_to, "u8[?]", "type/packed", "a byte holds two"),
        (filled, "u8[?]", "type/packed", "a byte holds two"),
        (no_pairs, "u8[?]", "type/packed", "has no pairs"),
        (floats_as_i4, "u8[?]", "type/packed", "cannot be packed as i4"),
        (untyped, "u8[?]", "type/packed", "u8 values are not packed"),
        (of_scalars, "u8[?]", "type/extent", "at least once"),
    ],
)
def test_refused(kernel: Any, x: str, code: str, word: str) -> None:
    with pytest.raises(tileopt.CompileError) as error:
        kernel.compile("cpu", x=x, out="f32[?]")
    assert error.value.code == code and word in error.value.message
    assert error.value.location is not None


def test_a_parameter_has_no_packed_type() -> None:
    make: Callable[..., Any] = tile.kernel
    with pytest.raises(tileopt.CompileError) as error:

        @make
        def of_i4(x: tile.In["i4", 1]):
            pass

    assert "i4" in error.value.message
