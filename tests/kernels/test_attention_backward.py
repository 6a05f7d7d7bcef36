"""The gradients of attention (examples/attention_backward.py): on the CPU, as GPUs compute them, and on a GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Array, Device

import tileopt

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from attention import attention_with_sums
from attention_backward import attention_backward, attention_backward_at_once

BF16, F16 = np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)
LIMITS = {BF16: 1.5e-2, F16: 2e-3, np.dtype(np.float32): 5e-6}
# (queries, keys, d, causal); where queries see no key beyond their own number
SIZES = [(100, 100, 64, True), (130, 257, 64, False), (200, 72, 64, True), (72, 200, 128, False), (136, 264, 128, True)]


def reference(q: Array, k: Array, v: Array, dout: Array, scale: float, causal: bool) -> dict[str, Array]:
    """In float64, from `scale` without log2(e)."""
    q, k, v, dout = (x.astype(np.float64) for x in (q, k, v, dout))
    scores = scale * q @ k.transpose(0, 2, 1)
    if causal:
        scores[:, ~np.tri(*scores.shape[1:], dtype=bool)] = -np.inf
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    weights /= total
    dweights = dout @ v.transpose(0, 2, 1)
    dscores = weights * (dweights - (weights * dweights).sum(-1, keepdims=True)) * scale
    return {
        "out": weights @ v,
        "lse": ((top + np.log(total)) * np.log2(np.e))[..., 0],
        "dq": dscores @ k,
        "dk": dscores.transpose(0, 2, 1) @ q,
        "dv": weights.transpose(0, 2, 1) @ dout,
    }


def gradients(
    device: Device,
    rng: np.random.Generator,
    size: tuple[int, int, int, bool],
    dtype: np.dtype,
    target: str | None,
    at_once: bool = False,
) -> None:
    queries, keys, d, causal = size
    q, dout = (rng.standard_normal((2, queries, d)).astype(dtype) for _ in range(2))
    k, v = (rng.standard_normal((2, keys, d)).astype(dtype) for _ in range(2))
    scale = 1 / np.sqrt(d)
    wanted = reference(q, k, v, dout, scale, causal)
    on = {name: device.put(x) for name, x in (("q", q), ("k", k), ("v", v), ("dout", dout))}
    out, dq = (device.empty((2, queries, d), dtype) for _ in range(2))
    dk, dv = (device.empty((2, keys, d), dtype) for _ in range(2))
    lse, delta = (device.empty((2, queries), np.dtype(np.float32)) for _ in range(2))
    step = float(scale * np.log2(np.e))
    given = (on["q"], on["k"], on["v"])
    attention_with_sums[tileopt.cdiv(queries, 64), 2](*given, out, lse, step, D=d, CAUSAL=causal, target=target)
    filled = (*given, out, on["dout"], lse, delta, dq, dk, dv)
    if at_once:
        parts = device.put(np.zeros((2, d, queries), np.float32))
        attention_backward_at_once(*filled, parts, step, causal, target=target)
    else:
        attention_backward(*filled, step, causal, target=target)
    for name, found in (("out", out), ("lse", lse), ("dq", dq), ("dk", dk), ("dv", dv)):
        error = np.linalg.norm(device.get(found).astype(np.float64) - wanted[name]) / np.linalg.norm(wanted[name])
        assert error < LIMITS[np.dtype(dtype)], name


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [BF16, F16, np.dtype(np.float32)], ids=str)
def test_gradients(device: Device, rng: np.random.Generator, size: tuple[int, int, int, bool], dtype: np.dtype) -> None:
    gradients(device, rng, size, dtype, None)


@pytest.mark.parametrize("target", [None, "model:sm_90a"])
@pytest.mark.parametrize("size", [SIZES[1], SIZES[4]], ids=str)
def test_gradients_in_one_kernel(
    device: Device, rng: np.random.Generator, size: tuple[int, int, int, bool], target: str | None
) -> None:
    if target is not None and device.name != "cpu":
        pytest.skip("a model runs on the CPU")
    gradients(device, rng, size, BF16, target, at_once=True)


@pytest.mark.parametrize("target", ["cpu-check", "model:sm_80", "model:sm_90a", "model:sm_100a"])
@pytest.mark.parametrize(("size", "dtype"), [(SIZES[2], F16), (SIZES[4], BF16)], ids=str)
def test_gradients_as_modelled(
    device: Device, rng: np.random.Generator, size: tuple[int, int, int, bool], dtype: np.dtype, target: str
) -> None:
    if device.name != "cpu":
        pytest.skip("a model runs on the CPU")
    gradients(device, rng, size, dtype, target)
