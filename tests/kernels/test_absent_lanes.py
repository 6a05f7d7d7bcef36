"""On the target "cpu", what lanes get of those that do not come: nothing that was in memory before, and no hang."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileopt import simt

THREADS = 64


@simt.kernel(block=THREADS)
def some_come(comes: simt.Slice["i64"], x: simt.Slice["i64"], out: simt.DisjointSlice["i64"]):
    i = simt.thread_index()
    if comes[i] > 0:
        out[i] = simt.shuffle(x[i], 3)


@simt.kernel(block=THREADS)
def some_add(comes: simt.Slice["i64"], x: simt.Slice["i64"], out: simt.DisjointSlice["i64"]):
    i = simt.thread_index()
    if comes[i] == 0:
        return
    out[i] = simt.warp_reduce(x[i])


@simt.kernel(block=THREADS)
def some_exchange(comes: simt.Slice["i64"], x: simt.Slice["i64"], out: simt.DisjointSlice["i64"]):
    i = simt.thread_index()
    if comes[i] > 0:
        out[i] = simt.shuffle_xor(x[i], 1)
        simt.syncwarp()


def expected(kernel: Any, comes: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    given = np.where(comes > 0, x, 0).reshape(-1, 32)
    if kernel is some_come:
        made = given[:, 3:4].repeat(32, 1)
    elif kernel is some_add:
        made = given.sum(1, keepdims=True).repeat(32, 1)
    else:
        made = given[:, np.arange(32) ^ 1]
    return np.where(comes > 0, made.ravel(), -1)


@pytest.mark.parametrize("kernel", [some_come, some_add, some_exchange], ids=lambda k: k.name)
def test_absent_lanes_give_zero(kernel: Any, rng: np.random.Generator) -> None:
    """Blocks share the area that lanes exchange by: what one left there no lane of the next may get."""
    for blocks in (3, 17, 400):
        x = rng.integers(1, 1 << 40, THREADS * blocks)
        comes = np.ones(THREADS * blocks, np.int64)
        comes[rng.random(len(comes)) < 0.2] = 0
        comes[3::64] = 0
        comes[: 2 * THREADS] = 1
        out = np.full(THREADS * blocks, -1, np.int64)
        kernel[blocks](comes, x, out, target="cpu")
        np.testing.assert_array_equal(out, expected(kernel, comes, x))
