"""The kernels in examples/, at sizes that divide nothing."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Array, Device

import tileopt

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from attention import attention
from nearest import nearest
from softmax import softmax
from vector_add import vector_add

EXAMPLES = Path(__file__).parents[2] / "examples"


NAMES = [
    "vector_add",
    "softmax",
    "matmul",
    "attention",
    "attention_backward",
    "nearest",
    "mixed",
    "split_k",
    "int4_weights",
    "frontends/einsum",
]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_and_says_so(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 and lines[0].startswith(f"{Path(name).stem}: ")


def test_vector_add(device: Device, rng: np.random.Generator) -> None:
    n = 100_003
    x, y = rng.standard_normal(n).astype(np.float32), rng.standard_normal(n).astype(np.float32)
    out = device.empty(n, np.float32)
    vector_add[(tileopt.cdiv(n, 1024),)](device.put(x), device.put(y), out)
    np.testing.assert_array_equal(device.get(out), x + y)


def test_softmax(device: Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((183, 781)).astype(np.float32)
    out = device.empty(x.shape, np.float32)
    softmax[(183,)](device.put(x), out)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(device.get(out), e / e.sum(1, keepdims=True), rtol=3e-6, atol=1e-9)


def reference_attention(q: Array, k: Array, v: Array, causal: bool) -> Array:
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [64, 100, 257])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_attention(device: Device, rng: np.random.Generator, causal: bool, length: int, name: str) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    q, k, v = (rng.standard_normal((3, length, 64)).astype(dtype) for _ in range(3))
    out = device.empty(q.shape, dtype)
    scale = float(np.log2(np.e) / np.sqrt(64))
    grid = (tileopt.cdiv(length, 64), 3)
    attention[grid](device.put(q), device.put(k), device.put(v), out, scale, CAUSAL=causal)
    expected = reference_attention(q, k, v, causal)
    error = np.linalg.norm(device.get(out).astype(np.float64) - expected) / np.linalg.norm(expected)
    assert error < {"float16": 2e-3, "bfloat16": 1e-2, "float32": 2e-6}[name]


def test_nearest(device: Device, rng: np.random.Generator) -> None:
    points = rng.integers(0, 17, (100, 64)).astype(np.float16)
    references = rng.integers(0, 17, (333, 64)).astype(np.float16)
    norms = (references.astype(np.float64) ** 2).sum(1).astype(np.float32)
    index = device.empty(100, np.int64)
    nearest[(2,)](device.put(points), device.put(references), device.put(norms), index)
    distance = ((points[:, None].astype(np.float64) - references[None].astype(np.float64)) ** 2).sum(-1)
    np.testing.assert_array_equal(device.get(index), distance.argmin(1))
