"""Accumulators that shared memory has no room for are stored as they lie."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tileopt import TileoptError, tile
from tileopt.dialects.layout import coalesced
from tileopt.passes.layout.direct_stores import together


@tile.kernel
def product(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
    tile.store(out, (i, j), acc)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(133, 260, 72), (256, 512, 64)])
def test_a_large_product_on_a_small_gpu(m: int, n: int, k: int, turned: bool) -> None:
    rng = np.random.default_rng()
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (k, n)))
    out: Any = np.full((n, m), np.nan, np.float32).T if turned else np.full((m, n), np.nan, np.float32)
    product[-(-m // 128), -(-n // 256)](a, b, out, BM=128, BN=256, BK=32, target="model:sm_86")
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-3)


def test_it_takes_no_shared_memory_for_the_store() -> None:
    arrays = {"a": "bf16[?:16, ?:16]", "b": "bf16[?:16, ?:16]", "out": "f32[?:16, ?:16]"}
    report = product.compile("sm_86", **arrays, BM=128, BN=256, BK=32).report
    assert report["shared_bytes"] < 128 * 256 * 4 and report["spill_stores"] == 0


def test_what_lies_badly_is_refused() -> None:
    @tile.kernel
    def turn(x: tile.In, out: tile.Out):
        tile.store(out, (0, tile.bid(0)), tile.transpose(tile.load(x, (tile.bid(0), 0), (256, 256))))

    with pytest.raises(TileoptError, match="target/shared-memory"):
        turn.compile("sm_86", x="f32[4096,4096]", out="f32[4096,4096]")


def test_elements_that_lanes_hold_together() -> None:
    rows = coalesced((64, 64), (0, 1), 4, 4)
    assert together(rows, 1) == 64 and together(rows, 0) == 2  # one lane of a warp more
    assert together(coalesced((64, 64), (1, 0), 2, 4), 0) == 64
