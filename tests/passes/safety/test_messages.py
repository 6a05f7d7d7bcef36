"""What ownership errors say: both places, the case that shows two owners, and nothing of the analysis' own words."""

from __future__ import annotations

import numpy as np
import pytest
from python_kernels import kernel, simt_kernel

from tileopt import OwnershipError

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


def test_a_launch_names_the_kernel() -> None:
    made = kernel("i = tile.bid(0)\ntile.store(out, i, tile.load(x, i, 64))", ARRAYS)
    x = np.ones(64, np.float32)
    with pytest.raises(OwnershipError) as caught:
        made[1](x, x, 1)
    assert [note for note, _ in caught.value.notes] == ["k is defined here"]
