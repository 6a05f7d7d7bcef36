"""Constant arrays of kernels of threads: every element type, any shape, and what is known of their elements."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Device
from python_kernels import module

from tileopt import BoundsError, KernelTypeError, simt

WEIGHTS = simt.constant(np.array([[1, 2, 3], [4, 5, 6.5]], np.float32))
ORDER = np.array([3, 1, 2, 0])
ORDER.flags.writeable = False
FLAGS = simt.constant(np.array([True, False, True]))


@simt.kernel(block=32, requires=["len(x) == len(out)"], deny_checks=True)
def mixed(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    s = simt.shared(4)
    if simt.thread_rank() < len(ORDER):
        s[ORDER[simt.thread_rank()]] = simt.f32(simt.thread_rank())
    simt.barrier()
    if i < len(out):
        total = s[ORDER[i % len(ORDER)]]
        for row in WEIGHTS:
            for w in row:
                total += w * x[i]
        if FLAGS[i % 3]:
            total += WEIGHTS[i % 2, i % 3] + WEIGHTS.row(1)[i % WEIGHTS.shape[1]]
        out[i] = total


def test_a_kernel_of_several(device: Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal(101).astype(np.float32)
    out = device.empty(101, np.float32)
    mixed[4](device.put(x), out)
    i, w = np.arange(101), np.array([[1, 2, 3], [4, 5, 6.5]])
    s = np.empty(4)
    s[ORDER] = np.arange(4)
    expected = s[ORDER[i % 4]] + w.sum() * x + np.where(i % 3 != 1, w[i % 2, i % 3] + w[1, i % 3], 0)
    np.testing.assert_allclose(device.get(out), expected, rtol=1e-5, atol=1e-5)


TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ml_dtypes.bfloat16]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type_of_elements(device: Device, rng: np.random.Generator, dtype: Any) -> None:
    values = np.frombuffer(rng.bytes(600 * np.dtype(dtype).itemsize), dtype).reshape(20, 30)
    if values.dtype.kind not in "iu":
        values = rng.integers(-99, 99, (20, 30)).astype(dtype)
    table = simt.constant(values)

    @simt.kernel(block=64)
    def copy(out: simt.DisjointSlice):
        i = simt.thread_index()
        if i < len(out):
            out[i] = table[i // 30, i % 30]

    out = device.empty(600, dtype)
    copy[10](out)
    np.testing.assert_array_equal(device.get(out), values.reshape(-1))


def test_a_constant_is_the_array_as_it_was(device: Device) -> None:
    array = np.arange(8, dtype=np.int32)
    table = simt.constant(array[::-1])
    array[:] = 0

    @simt.kernel(block=8)
    def copy(out: simt.DisjointSlice["i32", 1]):
        i = simt.thread_index()
        if i < len(out):
            out[i] = table[i]

    out = device.empty(8, np.int32)
    copy[1](out)
    assert (device.get(out) == np.arange(8)[::-1]).all()


def test_another_constant_is_another_kernel(device: Device) -> None:
    names = module(
        """
        import numpy as np
        TABLE = simt.constant(np.arange(4))
        @simt.kernel(block=4)
        def k(out: simt.DisjointSlice["i64", 1]):
            out[simt.thread_index()] = TABLE[simt.thread_index() % 4]
        """
    )
    before = names["k"].fingerprint()
    for factor in (1, 2, 1):
        names["TABLE"] = simt.constant(np.arange(4) * factor)
        out = device.empty(4, np.int64)
        names["k"][1](out)
        assert (device.get(out) == np.arange(4) * factor).all()
        assert (names["k"].fingerprint() == before) is (factor == 1)


def test_one_constant_by_value(device: Device) -> None:
    """A constant may be passed as a compile-time parameter, too, and one array of two names is one."""
    first = simt.constant(np.arange(5, dtype=np.float32))

    @simt.kernel(block=5)
    def k(out: simt.DisjointSlice["f32", 1]):
        i = simt.thread_index()
        if i < len(out) and i < len(first):
            out[i] = first[i] + simt.constant(first)[i]

    out = device.empty(5, np.float32)
    k[1](out)
    assert (device.get(out) == 2 * np.arange(5)).all()
    assert k.ir(out="f32[?]").count("simt.constant {") == 1


@pytest.mark.parametrize("array", [np.float32(1), np.zeros((0, 3)), np.array(["a"]), np.zeros(10000), 1 + 2j])
def test_what_is_no_constant(array: Any) -> None:
    with pytest.raises(KernelTypeError) as caught:
        simt.constant(array)
    assert caught.value.code == "type/constant-array"
    assert caught.value.location is not None and caught.value.location.file == __file__


def test_an_index_outside(device: Device) -> None:
    if device.name != "cpu":
        return  # the context would not live on: see tests/device/test_failed_checks.py

    @simt.kernel(block=4)
    def k(out: simt.DisjointSlice["f32", 1]):
        out[simt.thread_index()] = WEIGHTS[simt.thread_index(), 0]

    with pytest.raises(BoundsError, match="index 2 of 'WEIGHTS', whose length is 2"):
        k[1](np.zeros(4, np.float32))
