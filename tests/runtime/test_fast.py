"""Launches by the short cut do what those by the long way do; what differs from the last launch never takes it."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tileopt
from tileopt import LaunchError, OwnershipError, simt, tile
from tileopt.backends.runtime import fast_match, fast_plan


@tile.kernel
def mix(x: tile.In, y: tile.In, out: tile.Out, a: float, n: int, flag: bool, C: tile.Const[int] = 1):
    i = tile.bid(0)
    tile.store(out, i, tile.load(x, i, 64) * a + tile.load(y, i, 64) * n + (1.0 if flag else 0.0) + C)


@simt.kernel(block=(64,), requires=["len(x) == len(out)"])
def double(x: simt.Slice, out: simt.DisjointSlice):
    i = simt.thread_index()
    if i < len(out):
        out[i] = 2.0 * x[i]


def arrays(size: int = 100, seed: int | None = None) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    return random.random(size).astype(np.float32), random.random(size).astype(np.float32), np.zeros(size, np.float32)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the native function said, for each launch that asked it."""
    said: list[int] = []
    match = fast_match.match()
    assert match is not None

    def spy(*args: Any) -> int:
        said.append(match(*args))
        return said[-1]

    monkeypatch.setattr(fast_match, "match", lambda: spy)
    return said


def warm(launch: Callable[..., None], *args: Any) -> None:
    for _ in range(fast_plan.USES + 1):
        launch(*args)


def expected(x: Any, y: Any, a: float, n: int, flag: bool, c: int = 1) -> Any:
    return x.astype(np.float64) * np.float32(a) + y.astype(np.float64) * n + flag + c


def check(out: Any, *args: Any) -> None:
    np.testing.assert_allclose(out, expected(*args), rtol=1e-5, atol=1e-5 * (1 + abs(args[3])))


def test_the_short_cut_is_taken_and_right(counted: list[int]) -> None:
    x, y, out = arrays(77)
    warm(mix[2], x, y, out, 0.5, 3, True)
    counted.clear()
    for a, n, flag in ((0.5, 3, True), (-1.25, 5, False), (1e30, -7, True), (0.0, 2**62 + 1, False)):
        out[:] = np.nan
        mix[2](x, y, out, a, n, flag)
        check(out, x, y, a, n, flag)
    u, v, w = arrays(77, seed=1)
    mix[2](u, v, w, 0.5, 3, True)
    check(w, u, v, 0.5, 3, True)
    assert counted == [1] * 5


def test_a_few_plans_in_turn(counted: list[int]) -> None:
    sets = [arrays(size) for size in (21, 22, 23, 24)]
    for _ in range(2 * fast_plan.USES):
        for x, y, out in sets:
            mix[1](x, y, out, 0.5, 3, True)
    counted.clear()
    for x, y, out in sets:
        out[:] = np.nan
        mix[1](x, y, out, 0.25, 5, False)
        check(out, x, y, 0.25, 5, False)
    assert counted.count(1) == 4


def test_arguments_by_name(counted: list[int]) -> None:
    x, y, out = arrays(31)
    for _ in range(fast_plan.USES + 1):
        mix[1](x, y, out, n=3, flag=True, a=0.5, C=2)
    counted.clear()
    mix[1](x, y, out, n=5, flag=False, a=0.25, C=2)
    assert counted == [1]
    check(out, x, y, 0.25, 5, False, 2)
    for given in ({"a": 0.25, "n": 5, "flag": False, "C": 2}, {"n": 5, "flag": False, "a": 0.25, "C": 3}):
        out[:] = np.nan
        mix[1](x, y, out, **given)
        check(out, x, y, 0.25, 5, False, given["C"])
    with pytest.raises(LaunchError, match="no parameter 'b'"):
        mix[1](x, y, out, n=5, flag=False, b=0.25, C=2)


DIFFERENT: dict[str, Callable[[Any, Any, Any], tuple[Any, ...]]] = {
    "another size": lambda x, y, o: (*arrays(130), 0.5, 3, True),
    "a smaller view": lambda x, y, o: (x[:80], y[:80], o[:80], 0.5, 3, True),
    "a stride": lambda x, y, o: (np.repeat(x, 2)[::2], y, o, 0.5, 3, True),
    "backwards": lambda x, y, o: (x[::-1], y, o, 0.5, 3, True),
    "an unaligned address": lambda x, y, o: (np.append(np.float32(0), x)[1:], y, o, 0.5, 3, True),
    "another dtype": lambda x, y, o: (x.astype("f8"), y.astype("f8"), o.astype("f8"), 0.5, 3, True),
    "a read-only input": lambda x, y, o: (np.frombuffer(x.tobytes(), np.float32), y, o, 0.5, 3, True),
    "another divisor": lambda x, y, o: (x, y, o, 0.5, 16, True),
    "a negative number": lambda x, y, o: (x, y, o, 0.5, -4, True),
    "a NumPy scalar": lambda x, y, o: (x, y, o, np.float32(0.5), 3, True),
    "a bool for an int": lambda x, y, o: (x, y, o, 0.5, True, True),
    "a constant": lambda x, y, o: (x, y, o, 0.5, 3, True, 7),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_takes_the_long_way(name: str, counted: list[int]) -> None:
    x, y, out = arrays(sum(map(ord, name)))  # of a size that no other test has: its plan is new
    warm(mix[tileopt.cdiv(len(x), 64)], x, y, out, 0.5, 3, True)
    args = DIFFERENT[name](x, y, out)
    counted.clear()
    mix[tileopt.cdiv(len(args[0]), 64)](*args)
    assert counted in ([], [0])
    for _ in range(2 * fast_plan.USES):
        args[2][...] = np.nan
        mix[tileopt.cdiv(len(args[0]), 64)](*args)
        check(args[2], args[0], args[1], *args[3:])


def test_infinity_is_passed() -> None:
    x, y, out = arrays()
    warm(mix[2], x, y, out, 0.5, 3, True)
    mix[2](x, y, out, float("inf"), 3, True)
    assert np.isinf(out).all()


REFUSED: dict[str, tuple[Callable[[Any, Any, Any], tuple[Any, ...]], str]] = {
    "an alias": (lambda x, y, o: (o, y, o, 0.5, 3, True), "ownership/aliased-argument"),
    "no bool": (lambda x, y, o: (x, y, o, 0.5, 3, "no"), "launch/not-a-scalar"),
    "a read-only output": (lambda x, y, o: (x, y, np.frombuffer(bytes(400), np.float32), 0.5, 3, True),
                           "ownership/read-only-argument"),
    "too large an int": (lambda x, y, o: (x, y, o, 0.5, 1 << 63, True), "launch/scalar-range"),
    "too large a float": (lambda x, y, o: (x, y, o, 1e300, 3, True), "launch/scalar-range"),
    "too few": (lambda x, y, o: (x, y, o, 0.5, 3), "launch/missing-argument"),
    "too many": (lambda x, y, o: (x, y, o, 0.5, 3, True, 1, 2), "launch/too-many-arguments"),
    "a list": (lambda x, y, o: ([0.0] * 100, y, o, 0.5, 3, True), "launch/not-an-array"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_after_many_launches(name: str) -> None:
    x, y, out = arrays()
    warm(mix[2], x, y, out, 0.5, 3, True)
    make, code = REFUSED[name]
    with pytest.raises(LaunchError) as caught:
        mix[2](*make(x, y, out))
    assert caught.value.code == code
    mix[2](x, y, out, 0.5, 3, True)
    check(out, x, y, 0.5, 3, True)


def test_parts_of_one_array_that_interleave() -> None:
    whole = np.arange(200, dtype=np.float32)
    for _ in range(2 * fast_plan.USES):
        double[2](whole[::2], whole[1::2])
        np.testing.assert_array_equal(whole[1::2], 2 * whole[::2])
    with pytest.raises(OwnershipError):
        double[2](whole[::2], whole[::2])


def test_grids_and_conditions(counted: list[int]) -> None:
    x, _, out = arrays(90)
    warm(double[2], x, out)
    counted.clear()
    double[2](x, out)
    assert counted == [1]
    for grid in ((2,), (2, 1), [2], np.int64(2), (2, 1, 1)):
        double[grid](x, out)
    out[:] = 0
    double[0](x, out)
    assert not out.any()
    with pytest.raises(LaunchError, match="grid-negative"):
        double[-1](x, out)
    with pytest.raises(LaunchError, match="requires"):
        double[2](x[:64], out)


def test_a_grid_that_equals_another_is_not_it() -> None:
    x, y, out = arrays(60)
    warm(mix[1], x, y, out, 0.5, 3, True)
    for grid in (True, 1.0, (1, True), (1.0,), ([1],), "1", (1, 1, 1, 1)):
        with pytest.raises(LaunchError):
            mix[grid](x, y, out, 0.5, 3, True)


def test_streams_recordings_and_moves_are_seen() -> None:
    x, _, out = arrays()
    warm(double[2], x, out)
    with tileopt.Recording() as recording:
        double[2](x, out)
    assert len(recording.steps) == 1
    graph, stream = tileopt.Graph(), tileopt.Stream("cpu")
    out[:] = 0
    with graph.capture(stream):
        double[2](x, out)
    assert not out.any()
    graph.replay()
    assert out.all()
    owner = tileopt.move(x)
    with pytest.raises(OwnershipError):
        double[2](x, out)
    double[2](owner, out)
    del x, owner
    gc.collect()


def test_many_threads_at_once() -> None:
    failed: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            x, y, out = arrays(seed=seed)
            for n in range(60):
                out[:] = np.nan
                mix[2](x, y, out, 0.25 * seed, 2 * n + 1, bool(n & 1))
                check(out, x, y, 0.25 * seed, 2 * n + 1, bool(n & 1))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_no_reference_is_lost_or_kept() -> None:
    x, y, out = arrays()
    warm(mix[2], x, y, out, 0.5, 3, True)
    gc.collect()
    objects = (x, y, out, None, True, False, x.dtype, np.ndarray)
    before = [sys.getrefcount(v) for v in objects]
    for _ in range(3000):
        mix[2](x, y, out, 0.5, 3, True)
    assert all(abs(sys.getrefcount(v) - b) < 50 for v, b in zip(objects, before, strict=True))


# DLPack's exchange API


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


Fill = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))


class Exchanged:
    """An array that speaks DLPack, also natively."""

    calls = 0

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)


@Fill
def fill(value: Any, out: Any) -> int:
    Exchanged.calls += 1
    if value.array.dtype.kind not in "f":
        return -1
    tensor = out.contents
    tensor.data, tensor.byte_offset = value.array.ctypes.data - 8, 8
    tensor.device_type, tensor.device_id, tensor.ndim = 1, 0, value.array.ndim
    tensor.code, tensor.bits, tensor.lanes = 2, 8 * value.array.itemsize, 1
    tensor.shape, tensor.strides = value.shape, value.strides
    return 0


API = (ctypes.c_uint64 * 7)(1 | 3 << 32, 0, 0, 0, 0, ctypes.cast(fill, ctypes.c_void_p).value, 0)
NAME = b"dlpack_exchange_api"
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
Exchanged.__dlpack_c_exchange_api__ = _new(ctypes.addressof(API), NAME, None)  # type: ignore[attr-defined]


def test_arrays_that_exchange_natively(counted: list[int]) -> None:
    x, _, out = arrays(70)
    warm(double[2], Exchanged(x), out)
    counted.clear()
    Exchanged.calls = 0
    other = arrays(70, seed=3)[0]
    double[2](Exchanged(other), out)
    np.testing.assert_array_equal(out, 2 * other)
    assert counted == [1] and Exchanged.calls == 1
    double[2](Exchanged(other[::-1]), out)
    np.testing.assert_array_equal(out, 2 * other[::-1])
    assert counted == [1, 0]
    whole = Exchanged(out)
    with pytest.raises(OwnershipError):
        double[2](whole, out)
    with pytest.raises(LaunchError):
        double[2](Exchanged(np.ones(64, np.int32)), out)  # which the function itself refuses


def test_what_may_be_read_only_is_not_written_by_the_short_cut(counted: list[int]) -> None:
    x, _, out = arrays(60)
    warm(double[2], x, Exchanged(out))
    assert not counted and (out == 2 * x).all()
