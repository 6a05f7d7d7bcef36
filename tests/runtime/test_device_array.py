"""tileopt.zeros, empty, asarray and to_numpy, on the host and on a fake GPU whose memory is the host's."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from runtime.fake_cuda import FakeCuda

import tileopt
from tileopt.dialects.diagnostics import LaunchError
from tileopt.dialects.dtypes import DTYPES


def test_without_a_gpu_arrays_are_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    from tileopt.backends.nvidia import driver

    monkeypatch.setattr(driver, "available", lambda: False)
    x = tileopt.zeros((2, 3), "bf16")
    assert isinstance(x, np.ndarray)
    assert x.shape == (2, 3)
    assert x.dtype == DTYPES["bf16"].numpy
    assert isinstance(tileopt.empty(4), np.ndarray)
    given = np.arange(3)
    assert tileopt.asarray(given) is given
    assert tileopt.asarray([1, 2], "f16").dtype == np.float16


def test_the_default_target_says_where(cuda: FakeCuda) -> None:
    assert isinstance(tileopt.zeros(3), tileopt.DeviceArray)
    tileopt.set_default_target("cpu")
    try:
        assert isinstance(tileopt.zeros(3), np.ndarray)
    finally:
        tileopt.set_default_target(None)


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_values_go_to_the_gpu_and_back(cuda: FakeCuda, name: str) -> None:
    host = np.arange(1, 25).reshape(4, 6).astype(DTYPES[name].numpy)
    x = tileopt.asarray(host.T, device="cuda:1")
    assert isinstance(x, tileopt.DeviceArray)
    assert (x.shape, x.device, x.dtype) == ((6, 4), 1, host.dtype)
    assert (tileopt.to_numpy(x) == host.T).all()
    assert not any(tileopt.to_numpy(tileopt.zeros((3, 3), name, 0)).tobytes())


@pytest.mark.parametrize(
    "index",
    [
        1,
        -1,
        slice(None),
        slice(1, 3),
        slice(None, None, -1),
        (0, 1),
        (..., 2),
        (slice(None), 3),
        (1, ..., slice(5, 1, -2)),
    ]
    + [(slice(3, 3),), ()],
)
def test_views(cuda: FakeCuda, index: Any) -> None:
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = tileopt.asarray(host, device=0)
    assert isinstance(x, tileopt.DeviceArray)
    view = x[index]
    assert view.shape == host[index].shape
    assert (tileopt.to_numpy(view) == host[index]).all()
    assert view.data_ptr() - x.data_ptr() == (
        np.asarray(host[index]).ctypes.data - host.ctypes.data if np.ndim(host[index]) and host[index].size else
        view.data_ptr() - x.data_ptr()
    )  # fmt: skip


def test_more_views(cuda: FakeCuda) -> None:
    host = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    x = tileopt.asarray(host, device=0)
    assert isinstance(x, tileopt.DeviceArray)
    assert (x.T.numpy() == host.T).all()
    assert (x.transpose(1, 2, 0).numpy() == host.transpose(1, 2, 0)).all()
    assert (x.reshape(6, 4).numpy() == host.reshape(6, 4)).all()
    assert (np.asarray(x) == host).all()
    assert len(x) == 2
    for bad in (lambda: x[2], lambda: x[0, 0, 0, 0], lambda: x.reshape(5), lambda: x.T.reshape(24)):
        with pytest.raises((IndexError, ValueError)):
            bad()


def test_memory_lives_as_long_as_its_last_view(cuda: FakeCuda) -> None:
    x = tileopt.zeros((8,), "f32", 0)
    view = x[2:4]
    del x
    gc.collect()
    assert len(cuda.memory) == 1
    del view
    gc.collect()
    assert not cuda.memory


def test_no_elements(cuda: FakeCuda) -> None:
    x = tileopt.asarray(np.zeros((0, 3)), device=0)
    assert tileopt.to_numpy(x).shape == (0, 3)


def test_the_cuda_interface(cuda: FakeCuda) -> None:
    x = tileopt.zeros((4, 6), "f32", 0)
    assert isinstance(x, tileopt.DeviceArray)
    fields = x[:, ::2].__cuda_array_interface__
    assert (fields["shape"], fields["strides"], fields["typestr"]) == ((4, 3), (24, 8), "<f4")
    assert not hasattr(tileopt.zeros(3, "bf16", 0), "__cuda_array_interface__")


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "cpu:1", ""])
def test_no_such_device(cuda: FakeCuda, device: str) -> None:
    with pytest.raises(LaunchError, match="is no device"):
        tileopt.zeros(3, device=device)


@pytest.mark.parametrize("dtype", ["f31", complex, object, np.dtype(">f4")])
def test_no_such_type(dtype: Any) -> None:
    with pytest.raises(LaunchError) as error:
        tileopt.zeros(3, dtype, "cpu")
    assert error.value.code == "launch/array-dtype"


def test_to_numpy_of_a_protocol_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        def __init__(self, x: Any) -> None:
            self.x = x

        def __dlpack__(self, **options: Any) -> Any:
            return self.x.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.x.__dlpack_device__()

    x = np.arange(12, dtype=np.int32).reshape(3, 4)[::-1, ::2]
    found = tileopt.to_numpy(Other(x))
    assert (found == x).all()
    assert not np.shares_memory(found, x)
    with pytest.raises(LaunchError):
        tileopt.to_numpy([1, 2])
