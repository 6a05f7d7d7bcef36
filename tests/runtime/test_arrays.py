"""What is read of an array, by every protocol, and what is refused by name."""

from __future__ import annotations

import array as stdlib_array
import ctypes
import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tileopt.backends.runtime import numpy_arrays, protocols
from tileopt.backends.runtime.arrays import HOST, ArrayInfo, byte_range, reader_for
from tileopt.dialects.diagnostics import LaunchError
from tileopt.dialects.dtypes import DTYPES


def inspect(value: Any) -> ArrayInfo:
    reader = reader_for(value)
    assert reader is not None
    info = reader.inspect(value)
    assert reader.key(value)[0] == info.pointer
    return info


def refused(value: Any) -> LaunchError:
    with pytest.raises(LaunchError) as error:
        inspect(value)
    assert error.value.help is not None or error.value.code == "launch/array-null"
    return error.value


# ---- NumPy ----


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_every_element_type(name: str) -> None:
    info = inspect(np.zeros((2, 3), DTYPES[name].numpy))
    assert (info.dtype, info.itemsize, info.shape, info.strides) == (name, DTYPES[name].bytes, (2, 3), (3, 1))
    assert info.device == HOST


@pytest.mark.parametrize(
    ("dtype", "word"),
    [
        (np.complex64, "complex"),
        (np.dtype(object), "object"),
        (">f4", "byte order"),
        ([("a", "f4"), ("b", "i4")], "structured"),
        ("U3", "dtype"),
        ("datetime64[s]", "datetime64"),
        (np.longdouble, "dtype"),
        (ml_dtypes.float8_e4m3b11fnuz, "float8_e4m3b11fnuz"),
        (ml_dtypes.int4, "int4"),
    ],
)
def test_dtypes_without_an_element_type_are_named(dtype: Any, word: str) -> None:
    error = refused(np.zeros(4, dtype))
    assert error.code == "launch/array-dtype"
    assert word in error.message


@pytest.mark.parametrize(
    ("dtype", "packed"),
    [(ml_dtypes.int4, "i4"), (ml_dtypes.uint4, "u4"), (ml_dtypes.float4_e2m1fn, "f4e2m1fn")],
)
def test_values_of_four_bits_are_packed_first(dtype: Any, packed: str) -> None:
    error = refused(np.zeros(4, dtype))
    assert error.code == "launch/array-dtype"
    assert error.help is not None and "two values in a byte" in error.help and f"tile.{packed})" in error.help


def test_strides_of_any_sign() -> None:
    x = np.zeros((8, 12), np.float32)
    assert inspect(x[::-2, ::3]).strides == (-24, 3)
    assert inspect(x.T).strides == (1, 12)
    assert inspect(np.broadcast_to(x[0], (5, 12))).strides == (0, 1)
    assert inspect(np.zeros(())).strides == ()


def test_a_stride_that_splits_an_element_is_refused() -> None:
    raw = np.zeros(64, np.uint8)
    split = np.ndarray((3,), np.float32, raw.data, 0, (6,))
    assert refused(split).code == "launch/array-stride"
    assert inspect(np.ndarray((1,), np.float32, raw.data, 0, (6,))).shape == (1,)  # the stride addresses nothing
    assert inspect(np.ndarray((0, 3), np.float32, raw.data, 0, (8, 6))).empty


def test_an_address_inside_an_element_is_refused() -> None:
    raw = np.zeros(65, np.uint8)
    assert refused(raw[1:].view(np.float32)).code == "launch/array-misaligned"


def test_masked_arrays_are_refused() -> None:
    assert refused(np.ma.masked_array(np.zeros(3), [0, 1, 0])).code == "launch/array-masked"


def test_subclasses_are_read_as_arrays() -> None:
    class Mine(np.ndarray[Any, Any]):
        pass

    assert inspect(np.zeros(3, np.int16).view(Mine)).dtype == "i16"


def test_read_only_flag() -> None:
    x = np.zeros(3)
    before = numpy_arrays._key(x)
    x.setflags(write=False)
    assert not inspect(x).writable
    assert numpy_arrays._key(x) != before


def test_numpys_object_head_is_where_its_abi_says() -> None:
    assert numpy_arrays.head_is_known()
    for x in (np.zeros((3, 4), np.int8)[1:, ::-1], np.zeros(0), np.array(3.0), np.zeros((5, 0, 2))):
        assert numpy_arrays._key(x)[0] == x.ctypes.data == numpy_arrays._slow_key(x)[0]


def test_keys_differ_in_all_but_the_address() -> None:
    x = np.zeros((4, 6), np.float32)
    others = [x.T, x[:, :3], x.view(np.int32), x[::2], x.reshape(-1), x[:, 1:5], x.reshape(2, 12)]
    keys = [numpy_arrays._key(y)[1] for y in (x, *others)]
    assert len(set(keys)) == len(keys)
    assert numpy_arrays._key(np.zeros((4, 6), np.float32))[1] == keys[0]


# ---- the buffer protocol ----


def test_buffers() -> None:
    assert inspect(bytearray(12)).dtype == "u8"
    assert inspect(stdlib_array.array("d", [1, 2, 3])).dtype == "f64"
    assert not inspect(b"abc").writable
    assert inspect(memoryview(bytearray(12)).cast("i")).shape == (3,)
    assert inspect((ctypes.c_float * 5)()).dtype == "f32"


@pytest.mark.parametrize("value", [3, 3.0, "text", None, [1, 2], (1,), {1: 2}, np.float32(3), object(), len])
def test_what_is_no_array(value: object) -> None:
    assert reader_for(value) is None


# ---- CUDA's array interface ----


class Interface:
    """An object that speaks one protocol."""

    def __init__(self, **fields: Any) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (4, 8),
            "typestr": "<f4",
            "data": (0x7F0000000100, False),
            **fields,
        }


@pytest.fixture
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocols, "_device_of", lambda pointer: 1 if pointer >= 0x7F8000000000 else 0)


def test_cuda_interface(one_gpu: None) -> None:
    assert inspect(Interface()) == ArrayInfo(0x7F0000000100, (4, 8), (8, 1), "f32", 4, 0)
    strided = inspect(Interface(strides=(4, 64), stream=7, data=(0x7F8000000010, True)))
    assert (strided.strides, strided.stream, strided.device, strided.writable) == ((1, 16), 7, 1, False)
    assert inspect(Interface(shape=(0, 3), data=(0, False))).empty
    assert inspect(Interface(shape=(), strides=())).shape == ()


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"typestr": "<c8"}, "launch/array-dtype"),
        ({"typestr": ">f4"}, "launch/array-dtype"),
        ({"typestr": "|V2"}, "launch/array-dtype"),
        ({"strides": (6, 4)}, "launch/array-stride"),
        ({"data": (0, False)}, "launch/array-null"),
        ({"data": (0x7F0000000102, False)}, "launch/array-misaligned"),
        ({"mask": object()}, "launch/array-masked"),
        ({"shape": None}, "launch/array-protocol"),
        ({"data": 5}, "launch/array-protocol"),
        ({"shape": (-1,)}, "launch/array-protocol"),
        ({"strides": (4,)}, "launch/array-protocol"),
        ({"typestr": "nonsense"}, "launch/array-protocol"),
    ],
)
def test_a_bad_cuda_interface_is_refused(one_gpu: None, fields: dict[str, Any], code: str) -> None:
    with pytest.raises(LaunchError) as error:
        inspect(Interface(**fields))
    assert error.value.code == code


def test_an_object_that_has_the_interface_on_a_gpu_only(one_gpu: None) -> None:
    class Sometimes:
        def __init__(self, host: Any) -> None:
            self.host = host
            if host is None:
                self.__cuda_array_interface__ = Interface().__cuda_array_interface__
            else:
                self.__array_interface__ = host.__array_interface__

    assert inspect(Sometimes(None)).device == 0
    assert inspect(Sometimes(np.zeros(3, np.int8))).device == HOST
    assert inspect(Sometimes(None)).device == 0


# ---- DLPack ----


class Capsule:
    """An array that speaks DLPack only."""

    def __init__(self, source: Any, versions: bool = True) -> None:
        self.source, self.versions = source, versions

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        if not self.versions:
            if options:
                raise TypeError("unexpected keyword")
            return self.source.__dlpack__()
        return self.source.__dlpack__(**options)


@pytest.mark.parametrize("versions", [True, False])
def test_dlpack(versions: bool) -> None:
    x = np.zeros((6, 8), np.int16)[::2, 1:]
    info = inspect(Capsule(x, versions))
    assert (info.pointer, info.shape, info.strides) == (x.ctypes.data, (3, 7), (16, 1))
    assert (info.dtype, info.device, info.writable) == ("i16", HOST, True)


def test_dlpack_read_only() -> None:
    x = np.zeros(4, np.float64)
    x.setflags(write=False)
    assert not inspect(Capsule(x)).writable
    with pytest.raises(LaunchError, match="failed"):
        inspect(Capsule(x, versions=False))


def test_dlpack_complex_is_refused() -> None:
    assert refused(Capsule(np.zeros(3, np.complex64))).code == "launch/array-dtype"


# ---- PyTorch and CuPy, as far as they are read ----


class Device:
    def __init__(self, type: str, index: int | None = None) -> None:
        self.type, self.index = type, index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        return self.type


@dataclass(frozen=True)
class TorchType:
    name: str

    def __str__(self) -> str:
        return f"torch.{self.name}"


class Tensor:
    """torch.Tensor as far as it is read."""

    def __init__(self, dtype: str = "float32", device: Device | None = None, pointer: int = 0x1000) -> None:
        self.dtype = TorchType(dtype)
        self.device, self.shape, self.pointer, self.negative = device or Device("cpu"), (4, 6), pointer, False

    def stride(self) -> tuple[int, ...]:
        return (6, 1)

    def data_ptr(self) -> int:
        if self.pointer < 0:
            raise RuntimeError("Cannot access data pointer of Storage that is invalid.")
        return self.pointer

    def is_neg(self) -> bool:
        return self.negative


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("torch")
    module.Tensor = Tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)


def test_torch(torch: None) -> None:
    assert inspect(Tensor("bfloat16")) == ArrayInfo(0x1000, (4, 6), (6, 1), "bf16", 2, HOST)
    assert inspect(Tensor("float8_e4m3fn", Device("cuda", 1))).device == 1
    assert refused(Tensor("complex64")).code == "launch/array-dtype"
    assert refused(Tensor("qint8")).code == "launch/array-dtype"
    assert refused(Tensor(device=Device("mps", 0))).code == "launch/array-device"
    assert refused(Tensor(device=Device("meta"))).code == "launch/array-device"
    assert refused(Tensor(pointer=0)).code == "launch/array-null"
    reader = reader_for(Tensor())
    assert reader is not None
    assert reader.name == "torch"
    with pytest.raises(LaunchError, match="plain memory"):
        reader.key(Tensor(pointer=-1))
    lazy = Tensor()
    lazy.negative = True
    assert refused(lazy).code == "launch/array-lazy"
    cpu, meta = Tensor(pointer=0), Tensor(pointer=0, device=Device("meta"))
    assert reader.key(cpu)[1] != reader.key(meta)[1]


def test_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Array:
        shape, strides, dtype, itemsize = (4, 3), (24, 4), np.dtype(np.float32), 4
        data = SimpleNamespace(ptr=0x2000, device_id=2)

    module = ModuleType("cupy")
    module.ndarray = Array  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", module)
    assert inspect(Array()) == ArrayInfo(0x2000, (4, 3), (6, 1), "f32", 4, 2)


def test_byte_range() -> None:
    assert byte_range(ArrayInfo(0, (3, 4), (-10, 2), "f32", 4)) == (-80, 28)
    assert byte_range(ArrayInfo(0, (3, 0), (-10, 2), "f32", 4)) == (0, 0)
    assert byte_range(ArrayInfo(0, (), (), "f64", 8)) == (0, 8)
