"""Overlap of strided arrays against brute force over every byte."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileopt.backends.runtime.arrays import ArrayInfo
from tileopt.backends.runtime.overlap import overlaps_itself, shares_bytes


def addresses(info: ArrayInfo) -> list[int]:
    """The address of every element, in index order."""
    steps = [s * info.itemsize for s in info.strides]
    return [
        info.pointer + sum(i * s for i, s in zip(index, steps, strict=True))
        for index in product(*(range(n) for n in info.shape))
    ]


def covered(info: ArrayInfo) -> set[int]:
    return {a + byte for a in addresses(info) for byte in range(info.itemsize)}


@st.composite
def arrays(draw: st.DrawFn) -> ArrayInfo:
    rank = draw(st.integers(0, 3))
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=rank, max_size=rank)))
    strides = tuple(draw(st.lists(st.integers(-7, 7), min_size=rank, max_size=rank)))
    return ArrayInfo(1000 + draw(st.integers(0, 60)), shape, strides, "f32", draw(st.sampled_from([1, 2, 4, 8])))


@given(arrays(), arrays())
@settings(max_examples=400)
def test_two_arrays_against_every_byte(a: ArrayInfo, b: ArrayInfo) -> None:
    assert shares_bytes(a, b) == bool(covered(a) & covered(b))
    assert shares_bytes(b, a) == shares_bytes(a, b)


@given(arrays())
@settings(max_examples=400)
def test_one_array_against_every_element(a: ArrayInfo) -> None:
    found = addresses(a)
    assert overlaps_itself(a) == (len(set(found)) < len(found))


def test_interleaved_columns_of_a_large_array_are_decided() -> None:
    rows, columns = 65536, 40000
    left = ArrayInfo(1 << 40, (rows, columns // 2), (columns, 2), "f32", 4)
    right = ArrayInfo((1 << 40) + 4, (rows, columns // 2), (columns, 2), "f32", 4)
    assert shares_bytes(left, right) is False
    shifted = ArrayInfo((1 << 40) + 8, (rows, columns // 2), (columns, 2), "f32", 4)
    assert shares_bytes(left, shifted) is True


def test_what_the_budget_does_not_decide_is_said_to_be_undecided() -> None:
    a = ArrayInfo(0x10000, (9, 9, 9, 9, 9), (1009, 1013, 1019, 1021, 1031), "u8", 1)
    b = ArrayInfo(0x10003, (9, 9, 9, 9, 9), (1033, 1039, 1049, 1051, 1061), "u8", 1)
    assert shares_bytes(a, b, budget=3) is None


@pytest.mark.parametrize("strides", [(1, 4), (4, 1), (-4, 1), (8, 2)])
def test_slices_and_transposes_do_not_overlap_themselves(strides: tuple[int, int]) -> None:
    assert overlaps_itself(ArrayInfo(4096, (4, 4), strides, "f32", 4)) is False


def test_sliding_windows_overlap_themselves() -> None:
    assert overlaps_itself(ArrayInfo(4096, (100, 8), (1, 1), "f32", 4)) is True
