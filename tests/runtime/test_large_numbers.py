"""Numbers with more digits than Python prints, wherever a launch or a compilation takes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tileopt import TileoptError, tile
from tileopt.backends.runtime.constants import stable_text
from tileopt.dialects.diagnostics import shown

HUGE = 10**5000


@tile.kernel
def fill(out: tile.Out, n: int, FACTOR: tile.Const[int] = 1):
    tile.store(out, 0, tile.full(4, n * FACTOR))


def out() -> Any:
    return np.zeros(4, np.int64)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: fill[(HUGE,)](out(), 1), "launch/grid-too-large"),
        (lambda: fill[-HUGE](out(), 1), "launch/grid-negative"),
        (lambda: fill[(1, 1, 1, HUGE)](out(), 1), "launch/grid-rank"),
        (lambda: fill[(1,)](out(), HUGE), "launch/scalar-range"),
        (lambda: fill[(1,)](out(), 1, HUGE), "limits/integer"),
        (lambda: fill.compile("cpu", out="i64[?]", FACTOR=HUGE), "limits/integer"),
        (lambda: fill.compile("cpu", out="i64[?]", n=HUGE), "launch/signature"),
        (lambda: tile.In[HUGE], "kernel/annotation"),
    ],
)
def test_they_are_refused(call: Callable[[], object], code: str) -> None:
    with pytest.raises(TileoptError) as caught:
        call()
    assert caught.value.code == code and "5001 digits" in caught.value.message
    assert caught.value.location is not None


@pytest.mark.parametrize("digits", [2468, 3000, 4300, 5001, 20000])
def test_how_they_are_shown(digits: int) -> None:
    for number in (10 ** (digits - 1), 10**digits - 1, -(10 ** (digits - 1)), 1 - 10**digits):
        assert shown(number) == f"an integer of {digits} digits"


def test_how_others_are_shown() -> None:
    assert shown(-(10**41)) == "-10000000000...00000000 (42 digits)" and shown(10**39) == str(10**39)
    assert shown(-123) == "-123" and shown(True) == "True" and shown("x") == "'x'"
    assert shown((1, "a", [HUGE])) == "(1, 'a', [an integer of 5001 digits])"
    assert shown((1,)) == "(1,)"


def test_constants_have_a_stable_text() -> None:
    assert stable_text(HUGE) not in (None, stable_text(HUGE + 1), stable_text(-HUGE))
