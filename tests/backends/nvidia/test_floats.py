"""Conversions from and to 8-bit floats, by the hardware's `cvt` and in integer arithmetic, on every value there is."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from llvm_simulator import Kernel
from nvidia_programs import compile_text, kernel_text

from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.layout import coalesced

F8 = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}


def convert(values: np.ndarray, op: str, source: str, result: str, out: np.ndarray, target: str) -> str:
    count = len(values)
    layout = coalesced((count,), (0,), 1, 4)
    common = f"layout = {LayoutAttr.of(layout)}, shape = array<i64: {count}>, bounds = #tile.bounds<proved []>"
    n = layout.registers
    body = (
        "%z = arith.constant 0 : i64\n"
        f"%v = simt.fragment_load %x[%z] {{{common}}} : !tile.view<?x{source}, shared> -> vector<{n}x{source}>\n"
        f"%w = arith.{op} %v : vector<{n}x{source}> to vector<{n}x{result}>\n"
        f"simt.fragment_store %w, %y[%z] {{{common}}} : vector<{n}x{result}>, !tile.view<?x{result}, owned>"
    )
    views = [f"%x: !tile.view<?x{source}, shared>", f"%y: !tile.view<?x{result}, owned>"]
    llvm, ptx = compile_text(kernel_text(body, views), target)
    Kernel(llvm).run([values, count, 1, out, count, 1], (1,), 128)
    return ptx


@pytest.mark.parametrize("name", F8)
@pytest.mark.parametrize("target", ["sm_80", "sm_89"])
@pytest.mark.parametrize("result", ["f16", "bf16", "f32", "f64"])
def test_every_8_bit_float_is_read(name: str, target: str, result: str) -> None:
    codes = np.arange(256, dtype=np.uint8)
    out = np.zeros(256, {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}[result])
    ptx = convert(codes, "extf", name, result, out, target)
    np.testing.assert_array_equal(out.astype(np.float64), codes.view(F8[name]).astype(np.float64))
    assert ("cvt.rn.f16x2.e" in ptx) == (target == "sm_89")


@pytest.mark.parametrize("name", F8)
@pytest.mark.parametrize("target", ["sm_80", "sm_89"])
@pytest.mark.parametrize("part", range(4))
def test_every_f16_becomes_the_nearest(name: str, target: str, part: int) -> None:
    values = np.arange(part << 14, (part + 1) << 14, dtype=np.uint16)[::8].view(np.float16)
    values = np.concatenate([values, np.arange(0x5E00, 0x6000, dtype=np.uint16).view(np.float16)])
    edges = np.arange(0x5F30, 0x5F50, dtype=np.uint16)  # about 464
    top = np.arange(0x7B70, 0x7C08, dtype=np.uint16)  # about 61440, the largest, infinity, NaN
    values = np.concatenate([values, edges.view(np.float16), top.view(np.float16), -top.view(np.float16)])
    values = values[: len(values) // 128 * 128]
    out = np.zeros(len(values), np.uint8)
    ptx = convert(values, "truncf", "f16", name, out, target)
    with np.errstate(invalid="ignore"):
        want = values.astype(F8[name])
    nan = np.isnan(want.astype(np.float32))
    np.testing.assert_array_equal(out[~nan], want.view(np.uint8)[~nan])
    assert np.isnan(out.view(F8[name])[nan].astype(np.float32)).all()
    assert ("cvt.rn.satfinite.e" in ptx) == (target == "sm_89")


def test_no_double_rounding() -> None:
    values = np.full(128, 1.0625001, np.float32)
    for target in ("sm_80", "sm_89"):
        out = np.zeros(128, np.uint8)
        convert(values, "truncf", "f32", "f8E4M3FN", out, target)
        assert (out.view(F8["f8E4M3FN"]).astype(np.float32) == 1.125).all()


def as_scale(values: np.ndarray) -> np.ndarray:
    """Codes of the nearest powers of two, ties up, by arithmetic on wide floats."""
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float64)
    codes = np.full(len(wide), 255, np.uint8)
    small, fits = (wide >= 0) & (wide < 2.0**-127), (wide >= 2.0**-127) & (wide < 1.5 * 2.0**127)
    codes[small] = 0
    _, exponent = np.frexp(wide[fits] * (4 / 3))
    codes[fits] = exponent - 1 + 127
    return codes


@pytest.mark.parametrize("result", ["f32", "bf16", "f64"])
@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
def test_every_scale_is_read(result: str, target: str) -> None:
    codes = np.arange(256, dtype=np.uint8)
    out = np.zeros(256, {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f64": np.float64}[result])
    convert(codes, "extf", "f8E8M0FNU", result, out, target)
    want = np.exp2(np.arange(256) - 127.0)
    want[255] = np.nan
    np.testing.assert_array_equal(out.astype(np.float64), want)
    np.testing.assert_array_equal(want, codes.view(ml_dtypes.float8_e8m0fnu).astype(np.float64))


@pytest.mark.parametrize("source", ["f32", "bf16"])
@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
def test_every_float_becomes_the_nearest_scale(source: str, target: str) -> None:
    high = np.arange(0, 1 << 16, dtype=np.uint32)[:: 16 if source == "f32" else 8] << 16
    bits = np.concatenate([high + d for d in ((0, 1, 0xFFFF) if source == "f32" else (0,))]).astype(np.uint32)
    ties = (np.arange(256, dtype=np.uint32) << 23) + (1 << 22)
    bits = np.concatenate([bits, ties, ties - (1 << 16), np.uint32(3 << 21) + np.arange(-64, 64).astype(np.uint32)])
    values = bits.view(np.float32)[: len(bits) // 128 * 128]
    if source == "bf16":
        values = values.astype(ml_dtypes.bfloat16)
    out = np.zeros(len(values), np.uint8)
    convert(values, "truncf", source, "f8E8M0FNU", out, target)
    want = as_scale(values)
    np.testing.assert_array_equal(out, want)
    with np.errstate(invalid="ignore"):
        theirs = values.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8)
    # ml_dtypes makes NaN of 0, and rounds twice below the least normal number of f32.
    normal = ~(np.abs(values.astype(np.float32)) < np.float32(2.0**-126))
    np.testing.assert_array_equal(want[normal], theirs[normal])
