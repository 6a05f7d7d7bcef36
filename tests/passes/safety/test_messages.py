"""What ownership errors say: both places, the case that shows two owners, and nothing of the analysis' own words."""

from __future__ import annotations

import numpy as np
import pytest
from python_kernels import kernel, simt_kernel

from tileopt import LaunchError, OwnershipError

ARRAYS = "x: tile.In['f32', 1], out: tile.Out['f32', 1], n: int"


def refused(body: str) -> str:
    with pytest.raises(OwnershipError) as caught:
        kernel(body, ARRAYS).compile("cpu", x="f32[?]", out="f32[?]", n="i64")
    return str(caught.value)


@pytest.mark.parametrize("index", ["n - 1 - i", "n * i", "n * n + i", "(n - i) // 2", "3 * i + (n << 2)", "i * i * n"])
def test_no_symbol_of_the_analysis_is_shown(index: str) -> None:
    text = refused(f"i = tile.bid(0)\ntile.store(out, {index}, tile.load(x, i, 64))")
    assert "wrap" not in text and "error[ownership/overlapping-stores]" in text


def test_a_case_says_what_it_chose() -> None:
    text = refused("i = tile.bid(0)\ntile.store(out, i % n, tile.load(x, i, 64))")
    assert "blocks 0 and 2 both write out[0..63] where n = 2" in text
    text = refused("i = tile.bid(0)\ntile.store(out, i // 2, tile.load(x, i, 64))")
    assert "blocks 0 and 1 both write out[0..63]\n" in text  # in every launch


def test_a_case_of_threads_says_what_it_chose() -> None:
    made = simt_kernel("i = simt.thread_index()\nout[i // n] = 1.0", "out: simt.DisjointSlice['f32', 1], n: int")
    with pytest.raises(OwnershipError, match=r"both write out\[0\] where n = "):
        made.compile("cpu", out="f32[?]", n="i64")


def test_the_ids_that_meet_have_a_place() -> None:
    text = refused("i = tile.bid(0)  #! id\ntile.store(out, i % n, tile.load(x, i, 64))  #! store")
    lines = text.splitlines()
    assert lines[1].endswith("#! store") and "note: bid(0) is taken here" in lines[3] and lines[4].endswith("#! id")
    one = refused("tile.store(out, tile.bid(0) % n, tile.load(x, 0, 64))")
    assert "is taken here" not in one  # it is the line that is shown already


def test_what_may_leave_64_bits_is_said() -> None:
    text = refused("i = tile.bid(0)\ntile.store(out, n - 1 - i, tile.load(x, i, 64))")
    assert "note: 64*n - 64*bid(0) - 64 may leave the range of 64 bits" in text
    assert "help: compute it from extents or tile.num_blocks() in place of n" in text


def test_what_divides_an_argument_is_not_part_of_its_name() -> None:
    # 8 divides the 8 of this launch, and the analysis then works with n/8.
    made = kernel("tile.store(out, tile.bid(0) * (n // 2), tile.load(x, 0, 64))", ARRAYS)
    x, out = np.ones(64, np.float32), np.ones(64, np.float32)
    with pytest.raises(OwnershipError) as caught:
        made[1](x, out, 8)
    text = str(caught.value)
    assert "in place of n, or test the size of n before" in text
    assert "note: 32*n*bid(0) may leave the range of 64 bits" in text and "n/" not in text


def test_the_runs_of_threads_are_of_a_bounded_length() -> None:
    body = "i = simt.thread_index()\nfor j in range(n * i, min(n * i + n, len(out))):\n    out[j] = 1.0"
    parameters = "out: simt.DisjointSlice['f32', 1], n: int"
    out = np.zeros(50, np.float32)
    with pytest.raises(OwnershipError) as caught:
        simt_kernel(body, parameters)[1](out, 4)
    assert caught.value.help is not None
    advice = caught.value.help.partition("requires=")[2].partition(" does")[0]
    assert caught.value.help.startswith("bound n in the contract, as requires=[")
    simt_kernel(body, parameters, contract=f"block=(32,), requires={advice}")[1](out, 4)
    assert (out == 1).all()


@pytest.mark.parametrize("axis", [0, 1])
def test_blocks_that_repeat_each_other(axis: int) -> None:
    grid = (2, 1) if axis == 0 else (1, 2)
    made = kernel(f"tile.store(out, tile.bid({1 - axis}), tile.load(x, tile.bid({1 - axis}), 64))", ARRAYS)
    threads = simt_kernel(f"out[simt.thread_rank() + 64 * simt.block_idx({1 - axis})] = 1.0", "out: simt.DisjointSlice")
    x, out = np.ones(128, np.float32), np.ones(128, np.float32)
    for launch in (lambda: made[grid](x, out, 1), lambda: threads[grid](out)):
        with pytest.raises(OwnershipError) as caught:
            launch()
        error = caught.value
        assert isinstance(error, LaunchError) and error.code == "ownership/repeated-blocks"
        assert f"does not use axis {axis}" in error.message and "elements of 'out'" in error.message
        assert error.help is not None and f"block_idx({axis})" in error.help
        assert [note for note, _ in error.notes] == ["k is defined here"]


def test_a_launch_names_the_kernel() -> None:
    made = kernel("i = tile.bid(0)\ntile.store(out, i, tile.load(x, i, 64))", ARRAYS)
    x = np.ones(64, np.float32)
    with pytest.raises(OwnershipError) as caught:
        made[1](x, x, 1)
    assert [note for note, _ in caught.value.notes] == ["k is defined here"]
