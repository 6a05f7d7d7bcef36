"""What the functional model of the hardware finds out: threads that wait for ever, and what no hardware allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from python_kernels import simt_kernel

from tileopt import BoundsError, TileoptError

PARAMETERS = "out: simt.DisjointSlice['i32', 1], n: simt.i32"
USE = "if simt.thread_index() < len(out):\n            out[simt.thread_index()] = simt.i32(words[0])"


@pytest.fixture(autouse=True)
def compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code from the disk says where the program was when it was compiled: these have other names in each run."""
    monkeypatch.setenv("TILEOPT_CACHE", "0")


def launch(body: str, contract: str = "block=64", grid: int = 1, n: int = 1) -> np.ndarray[Any, Any]:
    out = np.zeros(64 * grid, np.int32)
    simt_kernel(body, PARAMETERS, contract)[grid](out, n)
    return out


FAULTS = {
    "a phase without its second arrival": (
        """
        bars = simt.shared(1, 'i64')
        if simt.thread_rank() == 0:
            simt.mbarrier_init(bars, 0, 2)
        simt.barrier()
        if simt.thread_rank() == 1:
            simt.mbarrier_arrive(bars)
        simt.mbarrier_wait(bars, 0, 0)  #!
        """,
        "model/deadlock",
        "64 threads wait",
    ),
    "bytes that never come": (
        """
        bars = simt.shared(1, 'i64')
        if simt.thread_rank() == 0:
            simt.mbarrier_init(bars, 0, 1)
            simt.mbarrier_arrive_expect_tx(bars, 0, 128)
        simt.barrier()
        simt.mbarrier_wait(bars, 0, 0)  #!
        """,
        "model/deadlock",
        "mbarrier_wait",
    ),
    "a named barrier that too few reach": (
        """
        if simt.warp_rank() == 0:
            simt.named_barrier(1, 64)  #!
        """,
        "model/deadlock",
        "32 threads wait",
    ),
    "one arrival too many": (
        """
        bars = simt.shared(1, 'i64')
        if simt.thread_rank() == 0:
            simt.mbarrier_init(bars, 0, 2)
            simt.mbarrier_arrive_expect_tx(bars, 0, 16)
            simt.mbarrier_arrive(bars)
            simt.mbarrier_arrive(bars)  #!
        """,
        "model/barrier",
        "expects 0 more",
    ),
    "a barrier that was not made": (
        """
        bars = simt.shared(1, 'i64')
        simt.mbarrier_arrive(bars)  #!
        """,
        "model/barrier",
        "mbarrier_init",
    ),
    "a barrier that was ended": (
        """
        bars = simt.shared(1, 'i64')
        if simt.thread_rank() == 0:
            simt.mbarrier_init(bars, 0, 1)
            simt.mbarrier_inval(bars)
            simt.mbarrier_arrive(bars)  #!
        """,
        "model/barrier",
        "was not made",
    ),
    "a row at no multiple of 16 bytes": (
        f"""
        tile = simt.shared((16, 16), 'f16')
        words = simt.ldmatrix(tile, (simt.lane_index() % 8, n))  #!
        {USE}
        """,
        "model/alignment",
        "not at 2",
    ),
    "lanes that have ended": (
        f"""
        if simt.thread_index() < len(out):
            if simt.lane_index() == out[simt.thread_index()] + 31:
                return
        tile = simt.shared((16, 16), 'f16')
        words = simt.ldmatrix(tile, (simt.lane_index() % 8, 0))  #!
        {USE}
        """,
        "model/lanes",
        "all 32 threads",
    ),
    "tensor memory that was not taken": (
        """
        words = simt.tcgen05_ld(simt.i32(n), 1)  #!
        """,
        "model/tensor-memory",
        "not all taken",
    ),
    "columns that were not taken together": (
        """
        slot = simt.shared(1, 'i32')
        if simt.warp_rank() == 0:
            simt.tcgen05_alloc(slot, 0, 64)
            simt.syncwarp()
            simt.tcgen05_dealloc(slot[0], 32)  #!
        """,
        "model/tensor-memory",
        "32 columns",
    ),
    "a product that was not waited for": (
        """
        slot, done = simt.shared(1, 'i32'), simt.shared(1, 'i64')
        left, right = simt.shared((128, 64), 'f16', swizzle=128), simt.shared((16, 64), 'f16', swizzle=128)
        me = simt.thread_rank()
        if me == 0:
            simt.mbarrier_init(done, 0, 1)
            simt.mbarrier_fence()
        if me < 32:
            simt.tcgen05_alloc(slot, 0, 32)
        simt.barrier()
        if me == 0:
            simt.tcgen05_mma(slot[0], left, right, False, 'f16')
            simt.tcgen05_commit(done)
        simt.barrier()
        words = simt.tcgen05_wait('ld', simt.tcgen05_ld(slot[0], 1))  #!
        """,
        "model/tensor-memory",
        "a product may be under way",
    ),
    "more tensor memory than there is": (
        """
        slot = simt.shared(2, 'i32')
        if simt.warp_rank() == 0:
            simt.tcgen05_alloc(slot, 0, 512)
            simt.tcgen05_alloc(slot, 1, 32)  #!
        """,
        "model/deadlock",
        "tcgen05_alloc",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    body, code, words = FAULTS[name]
    threads = "block=128" if "tcgen05" in body else "block=64"
    with pytest.raises(TileoptError) as caught:
        launch(body, threads)
    error = caught.value
    assert error.code == code, error
    assert words in str(error)
    assert error.location is not None and "#!" in (error.location.snippet() or "")


def test_a_launch_after_a_fault_is_a_fresh_one() -> None:
    with pytest.raises(TileoptError):
        launch(FAULTS["a named barrier that too few reach"][0])
    out = launch("simt.named_barrier(1, 64)\ni = simt.thread_index()\nif i < len(out):\n    out[i] = n")
    assert (out == 1).all()


def test_a_failed_check_comes_before_what_follows_from_it() -> None:
    body = """
    bars = simt.shared(1, 'i64')
    if simt.thread_rank() == 0:
        simt.mbarrier_init(bars, 0, 1)
    simt.barrier()
    if simt.thread_rank() == 0:
        if out[n] == 0:
            simt.mbarrier_arrive(bars)
    simt.mbarrier_wait(bars, 0, 0)
    """
    launch(body, n=5)
    with pytest.raises(BoundsError, match="index 99 of 'out'"):
        launch(body, n=99)


def test_copies_are_not_there_before_they_are_waited_for() -> None:
    """Of a copy that nobody waits for, the old contents are seen."""
    body = """
    tile = simt.shared(64, 'i32')
    me = simt.thread_rank()
    tile[me] = -1
    if me < len(x):
        simt.cp_async(tile, me, x, me)
    simt.cp_async_commit()
    before = tile[me]
    simt.cp_async_wait(0)
    if me < len(out) and simt.block_idx() == 0:
        out[me] = before * 1000 + tile[me]
    """
    x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    simt_kernel(body, "x: simt.Slice['i32', 1], out: simt.DisjointSlice['i32', 1]")[1](x, out)
    np.testing.assert_array_equal(out, x - 1000)
    # Elements that are not side by side are copied at once.
    simt_kernel(body, "x: simt.Slice['i32', 1], out: simt.DisjointSlice['i32', 1]")[1](np.repeat(x, 2)[::2], out)
    np.testing.assert_array_equal(out, x * 1001)


def test_groups_are_waited_for_in_their_order() -> None:
    body = """
    tile = simt.shared((2, 32), 'i32')
    me = simt.thread_rank()
    for k in simt.static_range(2):
        tile[k, me] = -1
        if 32 * k + me < len(x):
            simt.cp_async(tile, (k, me), x, 32 * k + me)
        simt.cp_async_commit()
    simt.cp_async_wait(1)
    if me < len(out) and simt.block_idx() == 0:
        out[me] = tile[0, me] * 1000 + tile[1, me]
    """
    x, out = np.arange(64, dtype=np.int32), np.zeros(32, np.int32)
    simt_kernel(body, "x: simt.Slice['i32', 1], out: simt.DisjointSlice['i32', 1]", "block=32")[1](x, out)
    np.testing.assert_array_equal(out, np.arange(32) * 1000 - 1)


def test_warps_and_barriers_work_beside() -> None:
    """Shuffles, votes and reductions in a kernel that the model runs."""
    body = """
    me = simt.thread_rank()
    simt.named_barrier(1, 96)
    total = simt.warp_reduce(me, 'sum') + simt.shuffle_xor(me, 1) + simt.i64(simt.popc(simt.ballot(me % 3 == 0)))
    simt.barrier()
    if me < len(out) and simt.block_idx() == 0:
        out[me] = simt.i32(total) + n
    """
    out = np.zeros(96, np.int32)
    simt_kernel(body, PARAMETERS, "block=96")[1](out, 7)
    me = np.arange(96)
    warp = me.reshape(3, 32)
    wanted = warp.sum(1).repeat(32) + (me ^ 1) + (warp % 3 == 0).sum(1).repeat(32) + 7
    np.testing.assert_array_equal(out, wanted)


SKIPPED = {
    "a shuffle": ("if n[me] > 0:\n    out[me] = simt.shuffle(me, 0)  #!", 5),
    "a reduction after a return": ("if n[me] == 0:\n    return\nout[me] = simt.warp_reduce(n[me])  #!", 5),
    "syncwarp": ("if n[me] > 0:\n    simt.syncwarp()  #!", 37),
    "some rounds of a loop": (
        "v = 1\nfor _ in range(n[me]):\n    v = simt.shuffle_down(v, 1)  #!\nout[me] = v",
        40,
    ),
}


@pytest.mark.parametrize("hardware", [False, True])
@pytest.mark.parametrize("name", SKIPPED)
def test_lanes_that_end_while_others_meet(name: str, hardware: bool) -> None:
    """Kernels with the hardware's own ops, and on a model those without any."""
    text, lane = SKIPPED[name]
    body = f"me = simt.thread_rank()\n{'simt.named_barrier(1, 64)' if hardware else ''}\n{text}"
    kernel = simt_kernel(body, "out: simt.DisjointSlice['i64', 1], n: simt.Slice['i64', 1]", "block=64")
    n, out = np.ones(64, np.int64), np.zeros(64, np.int64)
    n[lane] = 0
    for target in ("cpu", "model:sm_90a") if hardware else ("model:sm_90a",):
        with pytest.raises(TileoptError) as caught:
            kernel[1](out, n, target=target)
        error = caught.value
        assert error.code == "race/divergent-lanes"
        assert f"thread {lane} of the same warp has ended" in str(error)
        assert "the condition or loop around it is here" in str(error)
        assert error.location is not None and "#!" in (error.location.snippet() or "")
    n[lane] = 1
    kernel[1](out, n, target="model:sm_90a")
