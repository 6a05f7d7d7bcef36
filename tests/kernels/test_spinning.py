"""Threads that wait for others by an atomic in a loop, on the targets that let the others go on meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileopt import TileoptError, simt
from tileopt.backends.cpu.model import machine

TARGETS = ["cpu-check", "model:sm_80", "model:sm_90a"]


@simt.kernel(block=96)
def earlier_waits_for_later(x: simt.Slice["i64"], out: simt.DisjointSlice["i64"], FENCES: simt.Const[bool]):
    s = simt.shared(1, "i64")
    flag = simt.shared(1, "i32")
    t = simt.thread_rank()
    if t == 0:
        flag[0] = 0
    simt.barrier()
    if t == 95:
        s[0] = x[simt.block_idx()]
        if FENCES:
            simt.fence("block")
            simt.atomic_exch(flag, 0, 1)
        else:
            simt.atomic_exch(flag, 0, 1, order="release")
    elif t < 32:
        if FENCES:
            while simt.atomic_add(flag, 0, 0) == 0:
                pass
            simt.fence("block")
        else:
            while simt.atomic_add(flag, 0, 0, order="acquire") == 0:
                pass
        got = s[0]
        out[simt.thread_index()] = simt.shuffle(got, 5) + t


@simt.kernel(block=64)
def under_a_lock(at: simt.Slice["i64"], out: simt.DisjointSlice["i64"]):
    lock = simt.shared(1, "i32")
    total = simt.shared(1, "i64")
    t = simt.thread_rank()
    if t == 0:
        lock[0] = 0
        total[0] = 0
    simt.barrier()
    while simt.atomic_cas(lock, 0, 0, 1, order="acquire") != 0:
        pass
    total[0] = total[0] + at[simt.thread_index()]
    simt.atomic_exch(lock, 0, 0, order="release")
    simt.barrier()
    out[simt.thread_index()] = total[0]


@simt.kernel(block=64)
def waits_for_nobody(flag: simt.Atomic["i32"], out: simt.DisjointSlice["i64"]):
    t = simt.thread_rank()
    if simt.block_idx() == 0 and t > 60:
        while simt.atomic_add(flag, 0, 0, order="acquire") == 0:
            pass
    elif simt.block_idx() == 1:
        simt.atomic_exch(flag, 0, 1, order="release")
    out[simt.thread_index()] = 1


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fences", [True, False])
def test_an_earlier_thread_waits_for_a_later(target: str, fences: bool, rng: np.random.Generator) -> None:
    x, out = rng.integers(-1000, 1000, 3), np.zeros(3 * 96, np.int64)
    earlier_waits_for_later[3](x, out, fences, target=target)
    wanted = np.zeros((3, 96), np.int64)
    wanted[:, :32] = x[:, None] + np.arange(32)
    np.testing.assert_array_equal(out, wanted.ravel())


@pytest.mark.parametrize("target", TARGETS)
def test_a_lock(target: str, rng: np.random.Generator) -> None:
    x, out = rng.integers(-1000, 1000, 128), np.zeros(128, np.int64)
    under_a_lock[2](x, out, target=target)
    np.testing.assert_array_equal(out, x.reshape(2, 64).sum(1).repeat(64))


@pytest.mark.parametrize("target", TARGETS)
def test_a_wait_without_hope(target: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(machine, "MOST_LOOKS", 3000)
    with pytest.raises(TileoptError) as caught:
        waits_for_nobody[2](np.zeros(1, np.int32), np.zeros(128, np.int64), target=target)
    assert caught.value.code == "model/deadlock"
    assert "3 threads wait" in str(caught.value) and "atomic_add(flag" in str(caught.value)
