"""Faults of SIMT kernels that only the run shows, and what the target "cpu-check" says of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from planted import finds, pipeline, prove_all

import tileopt
from tileopt import simt
from tileopt.backends.cpu.check import analysis, launch

UNVERIFIED = ("verify-ownership", "verify-barriers")


@pytest.fixture(autouse=True, params=["whole", "in parts"])
def checking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`in parts`: the log is emptied, and looked at, after a few records."""
    if request.param == "in parts":
        monkeypatch.setattr(launch, "_CAPACITY", 7)
        monkeypatch.setattr(analysis, "BATCH", 20)
        monkeypatch.setattr(analysis, "TOUCHES", 50)
    tileopt.set_default_target("cpu-check")
    yield
    tileopt.set_default_target(None)


def ints(values: Any) -> Any:
    return np.asarray(values, np.int32)


def out(n: int, dtype: Any = np.int32) -> Any:
    return np.zeros(n, dtype)


REVERSED = ints(np.arange(64)[::-1])


# --- races in shared memory ----------------------------------------------------------------------------------------


@simt.kernel(block=64)
def between_warps(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")
    t = simt.thread_rank()
    s[simt.i64(at[t])] = 7 * simt.i32(t)  # there
    out[simt.thread_index()] = s[63 - simt.i64(at[t])]  # here


@simt.kernel(block=64)
def within_a_warp(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")
    t = simt.thread_rank()
    s[simt.i64(at[t])] = simt.i32(t)  # there
    simt.any_sync(t > 3)  # orders no memory
    out[simt.thread_index()] = s[simt.i64(at[t ^ 1])]  # here


@simt.kernel(block=64)
def only_the_warp_meets(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")
    t = simt.thread_rank()
    s[simt.i64(at[t])] = simt.i32(t)  # there
    simt.syncwarp()
    out[simt.thread_index()] = s[simt.i64(at[t ^ 32])]  # here


@simt.kernel(block=64)
def write_after_read(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")
    t = simt.thread_rank()
    total = simt.i32(0)
    for k in range(3):
        s[simt.i64(at[t])] = simt.i32(t + k)  # here
        simt.barrier()
        total += s[simt.i64(at[63 - t])]  # there
    out[simt.thread_index()] = total


@simt.kernel(block=64)
def barrier_is_missed_once(at: simt.Slice["i32"], when: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared((2, 64), "i32")
    t = simt.thread_rank()
    total = simt.i32(0)
    for k in range(len(when)):
        s[k % 2, simt.i64(at[t])] = simt.i32(t)  # there
        if when[k] > 0:
            simt.barrier()
        total += s[k % 2, simt.i64(at[t ^ 33])]  # here
        simt.barrier()
    out[simt.thread_index()] = total


@simt.kernel(block=64)
def two_writers(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")
    t = simt.thread_rank()
    s[simt.i64(at[t])] = simt.i32(t)  # here, there
    simt.barrier()
    out[simt.thread_index()] = s[0]


@simt.kernel(block=64, shared_bytes=512)
def parts_overlap(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    words = simt.dynamic_shared(64, "i32")
    halves = simt.dynamic_shared(128, "i16", offset=128)
    t = simt.thread_rank()
    words[simt.i64(at[t])] = simt.i32(t)  # there
    halves[simt.i64(at[t])] = 1  # here
    simt.barrier()
    out[simt.thread_index()] = words[0]


@simt.kernel(block=64)
def plain_after_atomic(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")
    t = simt.thread_rank()
    s[t] = 0
    simt.barrier()
    simt.atomic_add(s, simt.i64(at[t]), 1)  # there
    if at[t] == 9:
        s[9] = simt.i32(t)  # here
    simt.barrier()
    out[simt.thread_index()] = s[t]


@simt.kernel(block=64)
def read_beside_atomic(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")
    t = simt.thread_rank()
    s[t] = 0
    simt.barrier()
    simt.atomic_add(s, simt.i64(at[t]), 1)  # there
    out[simt.thread_index()] = s[t]  # here


# --- races in arrays -----------------------------------------------------------------------------------------------


@simt.kernel(block=64)
def threads_share_an_element(out: simt.DisjointSlice["i32"]):
    i = simt.thread_index()
    if i < 2 * len(out):
        out[i // 2] = simt.i32(i)  # here, there


@simt.kernel(block=64)
def neighbour_of_the_block(out: simt.DisjointSlice["i32"]):
    i = simt.thread_index()
    t = simt.thread_rank()
    if i < len(out):
        out[i] = 1  # here
        if t > 0:
            out[i] = 1 + out[i - 1]  # there


@simt.kernel(block=64)
def blocks_share_an_element(out: simt.DisjointSlice["i32"]):
    out[simt.thread_rank() + 0 * simt.block_idx()] = simt.i32(simt.block_idx())  # here, there


@simt.kernel(block=64)
def reads_the_block_before(out: simt.DisjointSlice["i32"]):
    i = simt.thread_index()
    out[i] = 1  # there
    if i >= 64:
        out[i] = out[i - 64]  # here


@simt.kernel(block=64)
def writes_what_a_block_read(out: simt.DisjointSlice["i32"]):
    i = simt.thread_index()
    value = 0
    if i + 64 < len(out):
        value = out[i + 64]  # there
    out[i] = value  # here


# --- uninitialised shared memory -----------------------------------------------------------------------------------


@simt.kernel(block=64)
def never_written(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")  # there
    out[simt.thread_index()] = s[simt.i64(at[simt.thread_rank()])]  # here


@simt.kernel(block=64)
def written_in_part(n: int, out: simt.DisjointSlice["i32"]):
    s = simt.shared((2, 64), "i32")  # there
    t = simt.thread_rank()
    if t < n:
        s[1, t] = simt.i32(t)
    simt.barrier()
    out[simt.thread_index()] = s[1, 63 - t]  # here


@simt.kernel(block=64, shared_bytes=256)
def dynamic_and_empty(n: int, out: simt.DisjointSlice["i32"]):
    s = simt.dynamic_shared(64, "i32")  # there
    t = simt.thread_rank()
    if t != n:
        s[t] = 5
    simt.barrier()
    out[simt.thread_index()] = s[t]  # here


@simt.kernel(block=64, shared_bytes=256)
def half_a_word(out: simt.DisjointSlice["i32"]):
    bytes_ = simt.dynamic_shared(256, "u8")
    words = simt.dynamic_shared(64, "i32")  # there
    t = simt.thread_rank()
    for k in range(3):
        bytes_[4 * t + k] = 1
    simt.barrier()
    out[simt.thread_index()] = words[t]  # here


@simt.kernel(block=64)
def counts_from_nowhere(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "u32")  # there
    simt.atomic_add(s, simt.i64(at[simt.thread_rank()]), 1)  # here
    out[simt.thread_index()] = 0


@simt.kernel(block=64)
def written_by_the_first_block(out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")  # there
    t = simt.thread_rank()
    if simt.block_idx() == 0:
        s[t] = simt.i32(t)
    simt.barrier()
    out[simt.thread_index()] = s[t]  # here


# --- reads of which nothing comes ----------------------------------------------------------------------------------


@simt.kernel(block=64)
def reads_for_nothing(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")
    t = simt.thread_rank()
    s[simt.i64(at[t])] = 1  # here
    _ = s[simt.i64(at[t ^ 32])]  # there
    out[simt.thread_index()] = 1


@simt.kernel(block=64)
def reads_twice(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")  # there
    t = simt.thread_rank()
    _ = s[simt.i64(at[t])]  # here
    s[simt.i64(at[t])] = 1
    out[simt.thread_index()] = s[simt.i64(at[t])]


# --- out of bounds -------------------------------------------------------------------------------------------------


@simt.kernel(block=64)
def below_zero(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(64, "i32")  # there
    t = simt.thread_rank()
    s[t] = 1
    simt.barrier()
    out[simt.thread_index()] = s[simt.i64(at[t]) - 1]  # here


@simt.kernel(block=64)
def second_axis(at: simt.Slice["i32"], x: simt.Slice["i32", 2], out: simt.DisjointSlice["i32"]):  # there
    t = simt.thread_rank()
    out[simt.thread_index()] = x[0, simt.i64(at[t])]  # here


@simt.kernel(block=64)
def shared_second_axis(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared((4, 16), "i32")  # there
    t = simt.thread_rank()
    s[1, simt.i64(at[t])] = 1  # here
    out[simt.thread_index()] = 1


@simt.kernel(block=64)
def proved_by_mistake(x: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):  # there
    i = simt.thread_index()
    out[i] = x[i + 1]  # here


@simt.kernel(block=64)
def row_by_mistake(x: simt.Slice["i32", 2], out: simt.DisjointSlice["i32"]):  # there
    i = simt.thread_index()
    row = x.row(i + 1)  # here
    out[i] = row[0]


# --- threads that do not meet --------------------------------------------------------------------------------------


@simt.kernel(block=64)
def barrier_in_a_branch(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    t = simt.thread_rank()
    if at[t] > 3:  # there
        simt.barrier()  # here
    out[simt.thread_index()] = 1


@simt.kernel(block=64)
def returns_before_the_barrier(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    t = simt.thread_rank()
    if at[t] == 3:  # there
        return
    simt.barrier()  # here
    out[simt.thread_index()] = 1


@simt.kernel(block=64)
def two_barriers(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    t = simt.thread_rank()
    if at[t] > 3:
        simt.barrier()  # here
    else:
        simt.barrier()  # there
    out[simt.thread_index()] = 1


@simt.kernel(block=64)
def barrier_in_a_loop(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    t = simt.thread_rank()
    for _ in range(1 + simt.i64(at[t]) // 63):  # there
        simt.barrier()  # here
    out[simt.thread_index()] = 1


@simt.kernel(block=64)
def lanes_apart(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    t = simt.thread_rank()
    value = at[t]
    if value % 2 == 0:
        value = simt.warp_reduce(value)  # there
    else:
        value = simt.shuffle_xor(value, 2)  # here
    out[simt.thread_index()] = value


@simt.kernel(block=64)
def lane_at_the_barrier(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    t = simt.thread_rank()
    if at[t] != 5:
        simt.syncwarp()  # here
    simt.barrier()  # there
    out[simt.thread_index()] = 1


@simt.kernel(block=64)
def lane_ends_without_a_shuffle(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    t = simt.thread_rank()
    if at[t] > 0:  # there
        out[simt.thread_index()] = simt.shuffle(simt.i32(t), 0)  # here


@simt.kernel(block=64)
def lane_returns_before_a_reduction(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    value = at[simt.thread_rank()]
    if value == 40:  # there
        return
    out[simt.thread_index()] = simt.warp_reduce(value)  # here


@simt.kernel(block=64)
def lanes_shuffle_more_or_less_often(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    value = at[simt.thread_rank()]
    for _ in range(value):  # there
        value = simt.shuffle_down(value, 1)  # here
    out[simt.thread_index()] = value


@simt.kernel(block=64)
def lane_misses_the_last_syncwarp(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    simt.syncwarp()
    if at[simt.thread_rank()] != 5:  # there
        simt.syncwarp()  # here
    out[simt.thread_index()] = 1


@simt.kernel(block=48)
def lane_of_a_short_warp_misses_a_vote(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    result = False
    if at[simt.thread_rank()] != 16:  # there
        result = simt.any_sync(True)  # here
    out[simt.thread_index()] = simt.i32(result)


TWICE = np.concatenate([np.arange(32), np.arange(32)]).astype(np.int32)
RACES: list[tuple[Any, Callable[[], None], tuple[str, ...]]] = [
    (
        between_warps,
        lambda: between_warps[1](REVERSED, out(64)),
        ("thread (31, 0, 0) reads s[31], thread (32, 0, 0) writes it, in block (0, 0, 0)",),
    ),
    (
        within_a_warp,
        lambda: within_a_warp[1](REVERSED, out(64)),
        ("thread (1, 0, 0) writes s[62], thread (0, 0, 0) reads it", "'s' is made here"),
    ),
    (only_the_warp_meets, lambda: only_the_warp_meets[1](REVERSED, out(64)), ("writes s[",)),
    (write_after_read, lambda: write_after_read[1](REVERSED, out(64)), (" reads", " writes ")),
    (
        barrier_is_missed_once,
        lambda: barrier_is_missed_once[1](REVERSED, ints([1, 1, 0, 1]), out(64)),
        (" s[0, ",),
    ),
    (two_writers, lambda: two_writers[2](TWICE, out(128)), ("thread (0, 0, 0) writes s[0], thread (32, 0, 0) writes",)),
    (
        parts_overlap,
        lambda: parts_overlap[1](REVERSED, out(64)),
        ("writes words[", "writes halves[", "the same memory"),
    ),
    (
        plain_after_atomic,
        lambda: plain_after_atomic[1](TWICE, out(64)),
        ("thread (9, 0, 0) writes s[9], thread (41, 0, 0) updates it", "make both atomic"),
    ),
    (read_beside_atomic, lambda: read_beside_atomic[1](REVERSED, out(64)), ("reads s[31]", " updates it")),
]
ARRAYS: list[tuple[str, Any, Callable[[], None], tuple[str, ...]]] = [
    (
        "race/missing-barrier",
        threads_share_an_element,
        lambda: threads_share_an_element[1](out(32)),
        ("thread (0, 0, 0) writes out[0], thread (1, 0, 0) writes it",),
    ),
    ("race/missing-barrier", neighbour_of_the_block, lambda: neighbour_of_the_block[1](out(64)), ("out[",)),
    (
        "race/between-blocks",
        blocks_share_an_element,
        lambda: blocks_share_an_element[3](out(64)),
        ("thread (0, 0, 0) of block (0, 0, 0) writes out[0], thread (0, 0, 0) of block (1, 0, 0) writes it",),
    ),
    (
        "race/between-blocks",
        reads_the_block_before,
        lambda: reads_the_block_before[2](out(128)),
        ("thread (0, 0, 0) of block (1, 0, 0) reads it",),
    ),
    ("race/between-blocks", writes_what_a_block_read, lambda: writes_what_a_block_read[2](out(128)), ("out[64]",)),
]
UNINITIALISED: list[tuple[Any, Callable[[], None], tuple[str, ...]]] = [
    (never_written, lambda: never_written[1](REVERSED, out(64)), ("thread (0, 0, 0) of block (0, 0, 0) reads s[63]",)),
    (
        written_in_part,
        lambda: written_in_part[1](60, out(64)),
        ("thread (0, 0, 0) of block (0, 0, 0) reads s[1, 63]",),
    ),
    (dynamic_and_empty, lambda: dynamic_and_empty[1](17, out(64)), ("thread (17, 0, 0)", "reads s[17]")),
    (half_a_word, lambda: half_a_word[1](out(64)), ("reads words[0]",)),
    (counts_from_nowhere, lambda: counts_from_nowhere[1](REVERSED, out(64)), ("updates s[63]",)),
    (written_by_the_first_block, lambda: written_by_the_first_block[2](out(128)), ("of block (1, 0, 0) reads s[0]",)),
]
DIVERGENT: list[tuple[Any, Callable[[], None], tuple[str, ...]]] = [
    (
        barrier_in_a_branch,
        lambda: barrier_in_a_branch[1](REVERSED, out(64)),
        ("thread (0, 0, 0) of block (0, 0, 0) waits", "thread (60, 0, 0) has ended"),
    ),
    (
        returns_before_the_barrier,
        lambda: returns_before_the_barrier[1](REVERSED, out(64)),
        ("thread (60, 0, 0) has ended",),
    ),
    (two_barriers, lambda: two_barriers[1](REVERSED, out(64)), ("thread (60, 0, 0) waits at another",)),
    (barrier_in_a_loop, lambda: barrier_in_a_loop[1](REVERSED, out(64)), ("thread (1, 0, 0) has ended",)),
    (lanes_apart, lambda: lanes_apart[1](REVERSED, out(64)), ("meeting of the warp's lanes",)),
    (
        lane_at_the_barrier,
        lambda: lane_at_the_barrier[1](REVERSED, out(64)),
        ("meeting of the warp's lanes, and thread (58, 0, 0) of the same warp waits at another",),
    ),
    (
        lane_ends_without_a_shuffle,
        lambda: lane_ends_without_a_shuffle[1](REVERSED, out(64)),
        ("thread (63, 0, 0) of the same warp has ended",),
    ),
    (
        lane_returns_before_a_reduction,
        lambda: lane_returns_before_a_reduction[1](REVERSED, out(64)),
        ("thread (23, 0, 0) of the same warp has ended",),
    ),
    (
        lanes_shuffle_more_or_less_often,
        lambda: lanes_shuffle_more_or_less_often[1](ints([1, 3, 1, 1] * 16), out(64)),
        (" of the same warp has ended",),
    ),
    (
        lane_misses_the_last_syncwarp,
        lambda: lane_misses_the_last_syncwarp[1](REVERSED, out(64)),
        ("thread (58, 0, 0) of the same warp has ended",),
    ),
    (
        lane_of_a_short_warp_misses_a_vote,
        lambda: lane_of_a_short_warp_misses_a_vote[1](REVERSED, out(48)),
        ("thread (47, 0, 0) of the same warp has ended",),
    ),
]


@pytest.mark.parametrize(("kernel", "start", "words"), RACES, ids=lambda k: getattr(k, "name", ""))
def test_a_race_in_shared_memory(kernel: Any, start: Callable[[], None], words: tuple[str, ...]) -> None:
    finds("race/missing-barrier", kernel, start, *words)


@pytest.mark.parametrize(("code", "kernel", "start", "words"), ARRAYS, ids=lambda k: getattr(k, "name", ""))
def test_a_race_in_an_array(code: str, kernel: Any, start: Callable[[], None], words: tuple[str, ...]) -> None:
    with pipeline(without=UNVERIFIED):
        finds(code, kernel, start, *words)


@pytest.mark.parametrize(("kernel", "start", "words"), UNINITIALISED, ids=lambda k: getattr(k, "name", ""))
def test_a_read_of_nothing(kernel: Any, start: Callable[[], None], words: tuple[str, ...]) -> None:
    finds("memory/uninitialised", kernel, start, *words)


@pytest.mark.parametrize(("kernel", "start", "words"), DIVERGENT, ids=lambda k: getattr(k, "name", ""))
def test_threads_that_do_not_meet(kernel: Any, start: Callable[[], None], words: tuple[str, ...]) -> None:
    with pipeline(without=("verify-barriers",)):
        finds("race/divergent-barrier", kernel, start, *words)


def test_reads_of_which_nothing_comes() -> None:
    finds("race/missing-barrier", reads_for_nothing, lambda: reads_for_nothing[1](REVERSED, out(64)))
    finds("memory/uninitialised", reads_twice, lambda: reads_twice[1](REVERSED, out(64)))
    copied = out(64)
    with pytest.raises(tileopt.BoundsError):
        reads_outside_for_nothing[1](REVERSED, copied)


@simt.kernel(block=64)
def reads_outside_for_nothing(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    i = simt.thread_index()
    _ = at[i + simt.i64(at[0])]
    out[i] = 1


def test_outside_shared_memory() -> None:
    finds(
        "bounds/out-of-range",
        below_zero,
        lambda: below_zero[1](REVERSED, out(64)),
        "index -1 of 's', whose length is 64, in thread (63, 0, 0) of block (0, 0, 0)",
    )
    finds(
        "bounds/out-of-range",
        shared_second_axis,
        lambda: shared_second_axis[1](ints(np.arange(64)), out(64)),
        "index 16 on axis 1 of 's', whose length is 16, in thread (16, 0, 0)",
    )


def test_outside_an_array() -> None:
    finds(
        "bounds/out-of-range",
        second_axis,
        lambda: second_axis[1](ints(np.arange(64)), np.ones((4, 40), np.int32), out(64)),
        "index 40 on axis 1 of 'x', whose length is 40, in thread (40, 0, 0)",
    )


def test_outside_by_a_wrong_proof() -> None:
    with pipeline(elide_bounds=prove_all):
        finds(
            "bounds/out-of-range",
            proved_by_mistake,
            lambda: proved_by_mistake[1](out(64), out(64)),
            "index 64 of 'x', whose length is 64, in thread (63, 0, 0)",
            "the compiler took it to be inside: by mistake",
        )
        finds(
            "bounds/out-of-range",
            row_by_mistake,
            lambda: row_by_mistake[1](np.zeros((64, 3), np.int32), out(64)),
            "row 64 of 'x', which has 64 rows",
        )


# --- threads that hand over data without a barrier -----------------------------------------------------------------


@simt.kernel(block=64)
def last_one_sums(
    at: simt.Slice["i32"], out: simt.DisjointSlice["i32"], ORDER: simt.Const[str], FENCE: simt.Const[int]
):
    s = simt.shared(64, "i32")
    count = simt.shared(1, "i32")
    t = simt.thread_rank()
    if t == 0:
        count[0] = 0
    simt.barrier()
    s[simt.i64(at[t])] = simt.i32(t)  # there
    if FENCE & 1:
        simt.fence("block")
    before = simt.atomic_add(count, 0, 1, order=ORDER)
    if FENCE & 2:
        simt.fence("block")
    total = simt.i32(0)
    if before == 63:
        for i in range(64):
            total += s[simt.i64(at[i])]  # here
    out[simt.thread_index()] = total


@pytest.mark.parametrize(
    ("order", "fences"), [("relaxed", 0), ("relaxed", 1), ("relaxed", 2), ("release", 0), ("acquire", 0)]
)
def test_handed_over_without_order(order: str, fences: int) -> None:
    finds("race/missing-barrier", last_one_sums, lambda: last_one_sums[2](REVERSED, out(128), order, fences))


@pytest.mark.parametrize(("order", "fences"), [("acq_rel", 0), ("relaxed", 3), ("release", 2), ("acquire", 1)])
def test_handed_over_in_order(order: str, fences: int) -> None:
    result = out(128)
    last_one_sums[2](REVERSED, result, order, fences)
    assert sorted(result.tolist())[-2:] == [2016, 2016]


@simt.kernel(block=64)
def lane_hands_over_for_its_warp(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"], MEETS: simt.Const[bool]):
    s = simt.shared(64, "i32")
    flag = simt.shared(1, "i32")
    t = simt.thread_rank()
    if t == 0:
        flag[0] = 0
    simt.barrier()
    if t < 32:
        s[simt.i64(at[t])] = simt.i32(t)  # there
        if MEETS:
            simt.syncwarp()
        if t == 31:
            simt.atomic_exch(flag, 0, 1, order="release")
    else:
        if simt.atomic_add(flag, 0, 0, order="acquire") == 1:
            out[simt.thread_index()] = s[simt.i64(at[t - 32])]  # here


def test_order_is_transitive() -> None:
    result = out(64)
    lane_hands_over_for_its_warp[1](REVERSED, result, True)
    np.testing.assert_array_equal(result[32:], np.arange(32))
    finds(
        "race/missing-barrier",
        lane_hands_over_for_its_warp,
        lambda: lane_hands_over_for_its_warp[1](REVERSED, out(64), False),
        "writes s[63]",
    )
