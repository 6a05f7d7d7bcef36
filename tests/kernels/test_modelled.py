"""Tile kernels as they are for a GPU, run by the model: matrix instructions, copies, barriers, roles."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from attention import attention
from matmul import matmul
from softmax import softmax

import tileopt

BF16 = np.dtype(ml_dtypes.bfloat16)
TARGETS = ["model:sm_75", "model:sm_80", "model:sm_89", "model:sm_90a", "model:sm_100a", "model:sm_120a"]


def close(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], limit: float) -> None:
    assert np.linalg.norm(found.astype(np.float64) - wanted) < limit * np.linalg.norm(wanted)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("block", [(64, 64, 32), (48, 96, 16)])
def test_product(rng: np.random.Generator, target: str, block: tuple[int, int, int]) -> None:
    m, n, k = 100, 136, 72
    dtype = np.float16 if target == "model:sm_75" else BF16
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    out = np.full((m, n), np.nan, np.float32)
    matmul[-(-m // block[0]), -(-n // block[1])](a, b, out, *block, target=target)
    close(out, a.astype(np.float64) @ b.astype(np.float64), 1e-6)


def test_producer_and_consumers(rng: np.random.Generator) -> None:
    """A persistent grid whose producer warp feeds two warpgroups by bulk copies through a ring of barriers."""
    m, n, k = 300, 200, 456
    a, b = rng.standard_normal((m, k)).astype(BF16), rng.standard_normal((k, n)).astype(BF16)
    out = np.full((m, n), np.nan, np.float32)
    matmul[3, 2](a, b, out, 128, 128, 64, target="model:sm_90a")
    close(out, a.astype(np.float64) @ b.astype(np.float64), 1e-6)
    given = {"a": "bf16[?:8,?:8]", "b": "bf16[?:8,?:8]", "out": "f32[?,?]", "BM": 128, "BN": 128, "BK": 64}
    ops = [set(re.findall(r"gpu\.\w+", matmul.compile(t, **given).ir("simt"))) for t in ("sm_90a", "model:sm_90a")]
    assert ops[0] == ops[1] >= {"gpu.tma_load", "gpu.wgmma", "gpu.mbarrier_wait", "gpu.setmaxnreg"}


@pytest.mark.parametrize("target", ["model:sm_80", "model:sm_90a"])
def test_attention(rng: np.random.Generator, target: str) -> None:
    q, k, v = (rng.standard_normal((1, 140, 64)).astype(BF16) for _ in range(3))
    out = np.full_like(q, np.nan)
    attention[3, 1](q, k, v, out, math.log2(math.e) / 8, CAUSAL=True, target=target)
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / 8
    scores[:, ~np.tri(140, dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    close(out, weights / weights.sum(-1, keepdims=True) @ v.astype(np.float64), 1e-2)


def test_a_kernel_without_such_instructions(rng: np.random.Generator) -> None:
    x, out = rng.standard_normal((5, 100)).astype(np.float32), np.full((5, 100), np.nan, np.float32)
    softmax[5](x, out, target="model:sm_90a")
    wanted = np.exp(x - x.max(1, keepdims=True))
    close(out, wanted / wanted.sum(1, keepdims=True), 1e-6)


def test_a_model_of_nothing() -> None:
    x = np.zeros((5, 100), np.float32)
    for name in ("model:sm_42", "model:cpu", "model:"):
        with pytest.raises(tileopt.TileoptError) as caught:
            softmax[5](x, x.copy(), target=name)
        assert caught.value.code in ("target/unknown", "target/kind")
