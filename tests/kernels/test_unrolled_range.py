"""`simt.unrolled_range`: what it computes, and that a GPU's code has no loop for it."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_device import Device

from tileopt import simt


@simt.kernel(block=32, requires=["len(x) == len(out)"])
def horner(x: simt.Slice["f32", 1], c: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1], N: simt.Const[int]):
    """out[i] = c[0] + c[2] x + c[4] x^2 + ..., with the coefficients below N, and the power last multiplied by."""
    i = simt.thread_index()
    if i < len(out):
        total, last = 0.0, 0
        for k in reversed(simt.unrolled_range(0, N, 2)):
            total = total * x[i] + c[k]
            last = k
        for sign in simt.unrolled_range(2, -1, -2):
            total += simt.f32(sign)
        out[i] = total + simt.f32(last)


@simt.kernel(block=32)
def rolled(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1], N: simt.Const[int]):
    i = simt.thread_index()
    if i < len(out):
        total = 0.0
        for k in range(N):
            total = total * x[i + k] + 1.0
        out[i] = total


@pytest.mark.parametrize("count", [0, 1, 2, 7, 30])
def test_values(device: Device, rng: np.random.Generator, count: int) -> None:
    x, c = rng.standard_normal(75).astype(np.float32) / 2, rng.standard_normal(max(count, 1)).astype(np.float32)
    out = device.empty(75, np.float32)
    horner[3](device.put(x), device.put(c), out, N=count)
    expected = sum((c[k] * x.astype(np.float64) ** (k // 2) for k in range(0, count, 2)), np.zeros(75)) + 2
    np.testing.assert_allclose(device.get(out), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
def test_a_gpu_runs_copies(target: str) -> None:
    """LLVM leaves a loop of 500 steps one where nobody asks."""
    arrays = {"x": "f32[?]", "out": "f32[?]"}
    compiled = horner.compile(target, c="f32[?]", N=1000, **arrays)
    assert compiled.ptx.count("fma.rn.f32") >= 500 and "bra" not in after(compiled.ptx, "fma.rn.f32")
    assert rolled.compile(target, N=500, **arrays).ptx.count("fma.rn.f32") < 500


def after(ptx: str, word: str) -> str:
    """From the first line with the word to the last one."""
    return ptx[ptx.index(word) : ptx.rindex(word)]
