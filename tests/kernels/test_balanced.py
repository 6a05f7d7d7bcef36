"""exp2 as polynomials where `balance-units` says so: the same results, and fewer instructions of the slow unit."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from role_programs import HEADS, attention

from tileopt import tile

BF16 = np.dtype(ml_dtypes.bfloat16)
MODELS = ["model:sm_90", "model:sm_90a"]


@tile.kernel
def powers(a: tile.In, b: tile.In, x: tile.In, out: tile.Out, product: tile.Out):
    """out = 2 ** x, tile by tile in a loop with a product."""
    i = tile.bid(0)
    acc = tile.zeros((64, 16), tile.f32)
    for k in range(tile.cdiv(a.shape[1], 64)):
        acc = tile.mma(tile.load(a, (i, k), (64, 64)), tile.load(b, (k, 0), (64, 16)), acc)
        tile.store(out, (i, k), tile.exp2(tile.load(x, (i, k), (64, 16))))
    tile.store(product, (i, 0), acc)


def special() -> np.ndarray:
    near = np.array([-127, -126, -1, 0, 1, 127, 128], np.float32)
    sides = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
    others = np.array(
        [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40, -1e-40, -149, -126.5, 127.5, 129, 255.5, -0.0], np.float32
    )
    return np.concatenate([near, *sides, others])


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize("eighths", [0, 1, 3, 8])
def test_powers(eighths: int, target: str, rng: np.random.Generator) -> None:
    steps = 3
    a, b = (rng.standard_normal(s).astype(BF16) for s in ((64, 64 * steps), (64 * steps, 16)))
    x = rng.uniform(-130, 130, (64, 16 * steps)).astype(np.float32)
    x[:, ::2] = rng.standard_normal((64, 8 * steps))
    flat = x.reshape(-1)
    flat[rng.permutation(flat.size)[: 30 * len(special())]] = np.tile(special(), 30)
    out, product = np.full_like(x, 7), np.empty((64, 16), np.float32)
    powers.with_hints(exp2_eighths=eighths)[1](a, b, x, out, product, target=target)
    with np.errstate(over="ignore"):
        wanted = np.exp2(x.astype(np.float64))
    wanted[wanted >= 2.0**128] = np.inf
    if eighths == 8:
        wanted[wanted < 2.0**-126] = 0
        np.testing.assert_array_equal(out[wanted == 0], 0)
    np.testing.assert_allclose(out, wanted, rtol=2.0**-22, atol=2.0**-126 if eighths else 2.0**-149)
    np.testing.assert_allclose(product, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("length", "causal"), [(200, False), (200, True), (64, True)])
@pytest.mark.parametrize(
    "hints", [{"exp2_eighths": 4}, {"exp2_eighths": 8, "fast_math": True}, {"take_turns": True}, {}], ids=str
)
def test_attention(hints: dict[str, Any], length: int, causal: bool, rng: np.random.Generator) -> None:
    q, k, v = (rng.standard_normal((2, length, 64)).astype(BF16) for _ in range(3))
    out = np.empty_like(q)
    scale = float(np.log2(np.e) / 8)
    kernel = attention.with_hints(**hints)
    rows = 128 if "take_turns" in hints else 64  # turns are of two warpgroups
    kernel[-(-length // rows), 2](q, k, v, out, scale, rows, 64, 64, causal, target="model:sm_90a")
    wide = [t.astype(np.float64) for t in (q, k, v)]
    scores = wide[0] @ wide[1].transpose(0, 2, 1) / 8
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    wanted = weights @ wide[2] / weights.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(out.astype(np.float64), wanted, atol=2e-2, rtol=2e-2)


def compiled(d: int, **hints: Any) -> Any:
    arrays = dict.fromkeys(["q", "k", "v", "out"], HEADS)
    kernel = attention.with_hints(**hints)
    return kernel.compile("sm_90a", **arrays, scale="f32", BM=128, BN=128, D=d, CAUSAL=False)


def instructions(ptx: str) -> tuple[int, int]:
    """Of exp2: on the special unit, and as polynomials."""
    return len(re.findall(r"ex2\.approx", ptx)), len(re.findall(r"add\.rm\.f32", ptx))


def test_a_quarter() -> None:
    """Two loops, and the first iteration of one, which stands before it: 64 elements a thread, and two for rows."""
    plain, quarter = compiled(64, exp2_eighths=0), compiled(64, exp2_eighths=2)
    assert instructions(plain.ptx) == (3 * 66, 0)
    assert instructions(quarter.ptx) == (3 * 66 - 2 * 16, 2 * 16)
    assert quarter.report["spill_stores"] == quarter.report["stack_bytes"] == 0
    assert re.search(r"C75\d\d", quarter.report["ptxas"]) is None


def test_the_model_chooses() -> None:
    """With heads of 64, special functions take as long as products, but what is issued beside them is hardly less, and
    an eighth as polynomials would be more; with heads of 128 they hide behind products."""
    assert instructions(compiled(64).ptx)[1] == 0
    assert instructions(compiled(128).ptx)[1] == 0
    assert compiled(128).ptx == compiled(128, exp2_eighths=0).ptx
