"""Tensor maps among a kernel's arguments: what the driver is told of the array, and that each launch has its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from runtime.fake_cuda import FakeCuda
from runtime.fakes import FakeKernel, parameter

import tileopt
from tileopt.backends.compiled import ParamSlot, SlotKind

X = (parameter("x"), parameter("out", "out"))
# Of x, transposed: its axis 0 is the fastest.
MAP = ParamSlot(0, SlotKind.TENSOR_MAP, 0, "bf16", (1, 0), (64, 32), 128)


def launched(launch: Any, cuda: FakeCuda, kernel: FakeKernel, x: Any) -> list[int]:
    cuda.words, cuda.map_arguments = 9, (8,)
    launch(kernel, (1,), x, tileopt.zeros((4,), "f32", 0))
    return cuda.map_words[-1]


def test_the_driver_is_told_extents_strides_and_box_from_the_fastest_axis(launch: Any, cuda: FakeCuda) -> None:
    kernel, x = FakeKernel(X, maps=(MAP,)), tileopt.zeros((24, 40), "bf16", 0)
    words = launched(launch, cuda, kernel, x.T)
    assert words[0] == x.data_ptr()
    ((kind, rank, pointer, extents, strides, box, steps, _, swizzle, _, _),) = cuda.maps
    assert (kind, rank, pointer) == ("CU_TENSOR_MAP_DATA_TYPE_BFLOAT16", 2, x.data_ptr())
    assert (extents, strides, box, steps) == ([40, 24], [80], [64, 32], [1, 1])
    assert swizzle == "CU_TENSOR_MAP_SWIZZLE_128B"


def test_a_map_is_made_once_for_an_address(launch: Any, cuda: FakeCuda) -> None:
    kernel = FakeKernel(X, maps=(MAP,))
    x, y = tileopt.zeros((40, 24), "bf16", 0), tileopt.zeros((40, 24), "bf16", 0)
    seen = [launched(launch, cuda, kernel, a)[0] for a in (x, y, x, y)]
    assert seen == [x.data_ptr(), y.data_ptr()] * 2
    assert len(cuda.maps) == 2


def test_the_short_cut_launches_with_maps_of_its_own(launch: Any, cuda: FakeCuda, libcuda: list[int]) -> None:
    kernel = FakeKernel(X, maps=(MAP,))
    x, y = tileopt.zeros((40, 24), "bf16", 0), tileopt.zeros((40, 24), "bf16", 0)
    used = [x, y, y, x] * 10
    assert [launched(launch, cuda, kernel, a)[0] for a in used] == [a.data_ptr() for a in used]
    assert len(libcuda) > 20


def test_an_axis_of_one_element_has_a_stride_that_the_driver_takes(launch: Any, cuda: FakeCuda) -> None:
    launched(launch, cuda, FakeKernel(X, maps=(MAP,)), tileopt.zeros((40, 1), "bf16", 0))
    assert cuda.maps[0][3:5] == ([40, 1], [16])


def test_an_empty_array_is_one_zero_outside_of_it(launch: Any, cuda: FakeCuda) -> None:
    words = launched(launch, cuda, FakeKernel(X, maps=(MAP,)), tileopt.zeros((0, 24), "bf16", 0))
    assert cuda.maps[0][3:5] == ([1, 1], [16])
    owner, bytes_, _ = cuda.memory[words[0]]
    assert owner == 0 and len(bytes_) >= 2
    assert not np.frombuffer(cuda.memory[words[0]][2], np.uint8, 2).any()
