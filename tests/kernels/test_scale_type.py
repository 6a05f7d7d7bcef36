"""f8e8m0fnu, the type of block scales: powers of two and NaN."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tileopt
from tileopt import tile

Array = np.ndarray[Any, Any]
SCALE = np.dtype(ml_dtypes.float8_e8m0fnu)
TARGETS = ["cpu", "cpu-check", "model:sm_75", "model:sm_90a"]


def codes(values: Array) -> Array:
    """Codes of the nearest powers of two, ties up: the exponent of 4/3 of the value, exactly in f64."""
    wide = values.astype(np.float64)
    exponents = np.frexp(wide * (4 / 3))[1] - 1 + 127
    out = np.clip(np.where(wide < 2.0**-127, 0, exponents), 0, 255)
    return np.where((wide < 0) | ~np.isfinite(wide), 255, out).astype(np.uint8)


@tile.kernel
def widen(s: tile.In, as_f32: tile.Out, as_bf16: tile.Out, doubled: tile.Out, BLOCK: tile.Const[int]):
    i = tile.bid(0)
    x = tile.load(s, i, BLOCK)
    tile.store(as_f32, i, x.astype(tile.f32))
    tile.store(as_bf16, i, x.astype(tile.bf16))
    tile.store(doubled, i, x + x)


@pytest.mark.parametrize("target", TARGETS)
def test_every_scale(target: str) -> None:
    s = np.arange(256, dtype=np.uint8).view(SCALE)[:253]
    as_f32, as_bf16 = np.zeros(253, np.float32), np.zeros(253, ml_dtypes.bfloat16)
    doubled = np.zeros(253, SCALE)
    widen[4](s, as_f32, as_bf16, doubled, 64, target=target)
    exact = np.exp2(np.arange(253) - 127.0)
    np.testing.assert_array_equal(as_f32, exact)
    np.testing.assert_array_equal(as_bf16.astype(np.float64), exact)
    np.testing.assert_array_equal(doubled.view(np.uint8), np.arange(253) + 1)


@tile.kernel
def narrow(x: tile.In, s: tile.Out, BLOCK: tile.Const[int]):
    i = tile.bid(0)
    tile.store(s, i, tile.load(x, i, BLOCK).astype(s.dtype))


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int32])
@pytest.mark.parametrize("target", TARGETS)
def test_numbers_become_the_nearest_scale(rng: np.random.Generator, kind: Any, target: str) -> None:
    x = np.exp2(rng.uniform(-20, 20, 1000)) * rng.choice([1, 1, 1, -1], 1000)
    x[:6] = [0, 3, 6, 1.5, 2.99, 1]
    with np.errstate(all="ignore"):
        x = x.astype(kind)
    s = np.zeros(1000, SCALE)
    narrow[8](x, s, 128, target=target)
    np.testing.assert_array_equal(s.view(np.uint8), codes(x))


@tile.kernel
def padded(s: tile.In, out: tile.Out):
    tile.store(out, 0, tile.load(s, 0, 32).astype(tile.f32))
    tile.store(out, 1, tile.load(s, 0, 32, padding=4.0).astype(tile.f32))
    tile.store(out, 2, tile.full((32,), 0.3, tile.f8e8m0fnu).astype(tile.f32))
    tile.store(out, 3, tile.zeros((32,), tile.f8e8m0fnu).astype(tile.f32))


@pytest.mark.parametrize("target", TARGETS)
def test_padding_and_constants(target: str) -> None:
    s, out = np.full(5, 3, np.uint8).view(SCALE), np.zeros(128, np.float32)
    padded[1](s, out, target=target)
    least = np.full(27, 2.0**-127)
    want = [np.r_[np.full(5, 2.0**-124), least], np.r_[np.full(5, 2.0**-124), np.full(27, 4.0)]]
    want += [np.full(32, 0.25), np.full(32, 2.0**-127)]
    np.testing.assert_array_equal(out.reshape(4, 32), np.array(want))


@tile.kernel
def extremes(s: tile.In, out: tile.Out):
    x = tile.load(s, 0, 100)
    tile.store(out, 0, tile.max(x).astype(tile.f32))
    tile.store(out, 1, tile.min(x).astype(tile.f32))


@pytest.mark.parametrize("target", TARGETS)
def test_reductions(rng: np.random.Generator, target: str) -> None:
    codes = rng.integers(10, 250, 100).astype(np.uint8)
    out = np.zeros(2, np.float32)
    extremes[1](codes.view(SCALE), out, target=target)
    np.testing.assert_array_equal(out, np.exp2([codes.max() - 127.0, codes.min() - 127.0]))


@tile.kernel
def filled(s: tile.Out, VALUE: tile.Const[float]):
    tile.store(s, 0, tile.full((32,), VALUE, s.dtype))


@pytest.mark.parametrize("value", [-2.0, float("inf"), 1e39])
def test_what_is_no_scale_is_refused(value: float) -> None:
    with pytest.raises(tileopt.CompileError) as error:
        filled.compile("cpu", s="f8e8m0fnu[?]", VALUE=value)
    assert error.value.code == "type/constant-range"
