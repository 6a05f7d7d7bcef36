"""Loops whose next step would pass the end of 64 bits: they end there, as Python's `range` does."""

from __future__ import annotations

import numpy as np
import pytest

from tileopt import tile


@tile.kernel
def visits(out: tile.Out["i64", 1], stop: int, STEP: tile.Const[int]):
    count = 0
    last = -1
    for i in range(0, stop, STEP):
        count = count + 1
        last = i
    tile.store(out, 0, tile.full((1,), count, tile.i64))
    tile.store(out, 1, tile.full((1,), last, tile.i64))


@tile.kernel
def run_time_step(out: tile.Out["i64", 1], stop: int, step: int):
    count = 0
    for _ in range(0, stop, step):
        count = count + 1
    tile.store(out, 0, tile.full((1,), count, tile.i64))


@pytest.mark.parametrize("stop", [2**63 - 1, 2**62, 2**62 + 1, 1, 0, -5])
@pytest.mark.parametrize("step", [2**62, 2**61, 2**62 - 1])
def test_a_constant_step(stop: int, step: int) -> None:
    out = np.zeros(2, np.int64)
    visits[1](out, stop, STEP=step)
    expected = range(0, stop, step)
    assert out.tolist() == [len(expected), expected[-1] if expected else -1]


@pytest.mark.parametrize(("stop", "step"), [(2**63 - 1, 2**62), (2**63 - 1, 2**63 - 1), (10, 3), (0, 5)])
def test_a_run_time_step(stop: int, step: int) -> None:
    out = np.zeros(1, np.int64)
    run_time_step[1](out, stop, step)
    assert out[0] == len(range(0, stop, step))
