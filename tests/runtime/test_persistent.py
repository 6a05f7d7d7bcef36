"""Launches of kernels whose blocks take the launch's blocks in turn."""

from __future__ import annotations

from typing import Any

import pytest
from runtime.fake_cuda import FakeCuda
from runtime.fakes import FakeKernel, parameter

import tileopt


@pytest.mark.parametrize(
    ("grid", "launched"), [((5,), 5), ((264,), 264), ((265,), 264), ((20, 30, 2), 264), ((3, 2), 6)]
)
def test_no_more_blocks_than_run_at_once(launch: Any, cuda: FakeCuda, grid: tuple[int, ...], launched: int) -> None:
    """Two blocks for each of 132 multiprocessors; the launch's extents are arguments."""
    kernel = FakeKernel((parameter("out", "out"),), persistent=2)
    cuda.words = 6
    launch(kernel, grid, tileopt.zeros((4,), "f32", 0))
    (_, physical, _, _, _, words) = cuda.launches[0]
    assert physical == (launched, 1, 1)
    assert tuple(words[3:]) == (*grid, 1, 1)[:3]


def test_each_launch_has_its_own_extents(launch: Any, cuda: FakeCuda) -> None:
    kernel, x = FakeKernel((parameter("out", "out"),), persistent=1), tileopt.zeros((4,), "f32", 0)
    cuda.words = 6
    for n in (7, 300, 7):
        launch(kernel, (n, 2), x)
    assert [(args[1][0], args[5][3]) for args in cuda.launches] == [(14, 7), (132, 300), (14, 7)]
