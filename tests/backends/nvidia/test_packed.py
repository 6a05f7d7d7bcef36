"""Packed values on every byte there is, as every type that holds them, and back."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from llvm_simulator import Kernel
from nvidia_programs import compile_text, kernel_text

from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.layout import coalesced

Array = np.ndarray[Any, Any]
TYPES = {
    "i8": np.uint8, "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip


@pytest.fixture
def rng() -> np.random.Generator:
    """Fresh numbers in every run; the seed is printed when the test fails."""
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    return np.random.default_rng(seed)


BYTES = np.arange(256, dtype=np.uint8)
LOW_FIRST = np.stack([BYTES & 15, BYTES >> 4], 1).reshape(-1)


def run(values: Array, op: str, format: str, source: str, result: str, out: Array, target: str) -> str:
    """Each thread takes eight bytes and the sixteen values in them."""
    few = coalesced((256,), (0,), 8, 1)
    layouts = {256: few, 512: few.widen(0, 2)}

    def fragment(x: Array) -> tuple[int, str]:
        layout, shape = layouts[len(x)], f"array<i64: {len(x)}>"
        return layout.registers, f"layout = {LayoutAttr.of(layout)}, shape = {shape}, bounds = #tile.bounds<proved []>"

    (n, taken), (m, given) = fragment(values), fragment(out)
    body = (
        "%z = arith.constant 0 : i64\n"
        f"%v = simt.fragment_load %x[%z] {{{taken}}} : !tile.view<?x{source}, shared> -> vector<{n}x{source}>\n"
        f'%w = simt.{op} %v {{format = "{format}"}} : vector<{n}x{source}> -> vector<{m}x{result}>\n'
        f"simt.fragment_store %w, %y[%z] {{{given}}} : vector<{m}x{result}>, !tile.view<?x{result}, owned>"
    )
    views = [f"%x: !tile.view<?x{source}, shared>", f"%y: !tile.view<?x{result}, owned>"]
    llvm, ptx = compile_text(kernel_text(body, views, threads=32), target)
    Kernel(llvm).run([values, len(values), 1, out, len(out), 1], (1,), 32)
    return ptx


def numbers(codes: Array, format: str) -> Array:
    if format == "f4e2m1fn":
        return codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    return codes.astype(np.float64) - (16.0 * (codes > 7) if format == "i4" else 0.0)


FLOATS = ["f8E4M3FN", "f16", "bf16", "f32"]
READ = [(f, r) for f in ("i4", "u4") for r in ("i8", *FLOATS)] + [("f4e2m1fn", r) for r in FLOATS]


@pytest.mark.parametrize(("format", "result"), READ)
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a", "sm_120a"])
def test_every_byte_is_read(format: str, result: str, target: str) -> None:
    out = np.zeros(512, TYPES[result])
    ptx = run(BYTES, "fragment_unpack", format, "i8", result, out, target)
    want = numbers(LOW_FIRST, format)
    got = out.view(np.int8) if result == "i8" else out
    np.testing.assert_array_equal(got.astype(np.float64), want)
    np.testing.assert_array_equal(np.signbit(got.astype(np.float64)), np.signbit(want))
    pairs = result in ("f16", "bf16") and target != "sm_75"
    assert (re.search(rf"(fma|add|mul)(\.rn)?\.{result}x2", ptx) is not None) == pairs


@pytest.mark.parametrize("source", ["f8E4M3FN", "f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
def test_floats_are_rounded_once(rng: np.random.Generator, source: str, target: str) -> None:
    ties = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 0.0, 6.0, 7.0, 1e4, np.inf])
    near = np.concatenate([ties, np.nextafter(ties, 0), np.nextafter(ties, np.inf)])
    values = np.concatenate([near, rng.standard_normal(512) * 4])
    values = np.concatenate([values, -values])[rng.permutation(2 * len(values))[:512]]
    with np.errstate(all="ignore"):
        values = values.astype(TYPES[source])
        want = values.astype(np.float64).astype(np.float32).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
        # f64 to f32 first would round twice.
        wide = np.abs(values.astype(np.float64))
    nearest = np.zeros(512, np.uint8)
    for code, (edge, even) in enumerate(zip(ties[:7], [0, 1, 0, 1, 0, 1, 0], strict=True), 1):
        nearest[(wide > edge) | ((wide == edge) & (even == 1))] = code
    nearest |= np.signbit(values.astype(np.float64)).astype(np.uint8) << 3
    finite = np.isfinite(values.astype(np.float64))
    if source != "f64":
        np.testing.assert_array_equal(nearest[finite], want[finite])
    out = np.zeros(256, np.uint8)
    run(values, "fragment_pack", "f4e2m1fn", source, "i8", out, target)
    pairs = nearest[0::2] | nearest[1::2] << 4
    known = ~np.isnan(values.astype(np.float64)).reshape(256, 2).any(1)
    np.testing.assert_array_equal(out[known], pairs[known])


@pytest.mark.parametrize("format", ["i4", "u4"])
def test_integers_give_their_low_bits(rng: np.random.Generator, format: str) -> None:
    values = rng.integers(0, 256, 512).astype(np.uint8)
    out = np.zeros(256, np.uint8)
    run(values, "fragment_pack", format, "i8", "i8", out, "sm_90a")
    np.testing.assert_array_equal(out, values[0::2] & 15 | values[1::2] << 4)


@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
def test_nan_becomes_the_largest(source: str) -> None:
    values = np.full(512, np.nan, TYPES[source])
    values[1::2] *= -1
    out = np.zeros(256, np.uint8)
    run(values, "fragment_pack", "f4e2m1fn", source, "i8", out, "sm_90a")
    assert set(out & 7) == {7} and set(out >> 4 & 7) == {7}
