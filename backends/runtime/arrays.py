"""What a launch needs to know of an array, read from whatever the user brought.

Two depths. `Reader.key` is for every launch: the address of element 0 and a hashable key of all else, at the least cost
its framework allows. `Reader.inspect` is for a key's first launch: it normalises, and refuses by name what has no
element type here or no strides in elements.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from tileopt.backends.runtime.errors import launch_error

HOST = -1  # the device number of memory that the CPU reads


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """One array. `strides` are in elements; `dtype` is a name as in `tileopt.dialects.dtypes`.

    `device`: a CUDA ordinal or HOST. `stream`: where the array's producer says that its work is queued, if it does.
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    itemsize: int
    device: int = HOST
    writable: bool = True
    stream: int | None = None

    @property
    def empty(self) -> bool:
        return 0 in self.shape


Key = tuple[int, Hashable]


@dataclass(frozen=True, slots=True)
class Reader:
    """How one type of array is read. Arrays with equal keys differ in nothing but the address of element 0.

    `name`: the framework, which also says whose current stream a launch takes.
    """

    name: str
    key: Callable[[Any], Key]
    inspect: Callable[[Any], ArrayInfo]


def low_bits(pointer: int) -> int:
    """The class of an address in a key: its alignment up to 16 bytes, with null apart."""
    return pointer & 15 if pointer else -1


_READERS: dict[type, Reader] = {}


def reader_for(value: object) -> Reader | None:
    """How to read this object as an array; None where it is none. One look-up after a type's first time."""
    kind = type(value)
    reader = _READERS.get(kind)
    if reader is None:
        reader = _find_reader(value)
        if reader is not None:
            _READERS[kind] = reader
    return reader


def _find_reader(value: object) -> Reader | None:
    from tileopt.backends.runtime import numpy_arrays, protocols

    kind = type(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(value, numpy.generic):
            return None
        if isinstance(value, numpy.ndarray):
            return numpy_arrays.reader(kind)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        from tileopt.backends.runtime import torch_arrays

        return torch_arrays.READER
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(value, getattr(cupy, "ndarray", ())):
        return protocols.CUPY
    from tileopt.backends.runtime.device_array import READER, DeviceArray

    if isinstance(value, DeviceArray):
        return READER
    if isinstance(value, str | int | float | complex | tuple | list | dict | set | type(None)):
        return None
    return protocols.GENERIC if protocols.speaks(value) else None


# ---- element types ----

_ITEM: dict[str, int] = {}


def itemsize(dtype: str) -> int:
    """Bytes of one element of this type."""
    if not _ITEM:
        from tileopt.dialects.dtypes import DTYPES

        _ITEM.update({name: d.bytes for name, d in DTYPES.items()})
    return _ITEM[dtype]


# Of `ml_dtypes`: one in a byte, where kernels take two.
_FOUR_BITS = {"int4": "i4", "uint4": "u4", "float4_e2m1fn": "f4e2m1fn"}
FOUR_BITS = "pack two values in a byte, the first in the low half, pass them as u8, and use tile.unpack(x, tile.{})"


def element_name(dtype: Any) -> str:
    """The element type of a NumPy dtype. Raises LaunchError, which names the dtype, where there is none."""
    from tileopt.dialects.dtypes import DTYPES, from_numpy

    found = from_numpy(dtype)
    if found is not None:
        return found.name
    known = ", ".join(DTYPES)
    if dtype.names is not None or dtype.subdtype is not None:
        why, help = f"structured dtype {dtype}", "pass one array for each field, made contiguous"
    elif dtype.kind == "c":
        why, help = f"complex dtype {dtype}", "pass the real and the imaginary part as two arrays"
    elif dtype.kind == "O":
        why, help = "dtype object", f"convert it with .astype to one of {known}"
    elif not dtype.isnative:
        why, help = (
            f"dtype {dtype.str}, whose byte order is not this machine's",
            "convert it: x.astype(x.dtype.newbyteorder('='))",
        )
    else:
        why, help = f"dtype {dtype}", f"element types are {known}"
        if dtype.name in _FOUR_BITS:
            help = FOUR_BITS.format(_FOUR_BITS[dtype.name])
    raise launch_error("array-dtype", f"no kernel takes an array of {why}", help=help)


# ---- normalisation ----


def element_strides(strides: tuple[int, ...], size: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements from strides in bytes. Raises LaunchError where an axis' stride is no multiple."""
    result = []
    for axis, (stride, extent) in enumerate(zip(strides, shape, strict=True)):
        if stride % size and extent > 1 and 0 not in shape:
            raise launch_error(
                "array-stride",
                f"the stride of axis {axis} is {stride} bytes, no multiple of the element's {size}",
                help="copy the array: numpy.ascontiguousarray(x)",
            )
        result.append(stride // size)
    return tuple(result)


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(1, shape[axis + 1])
    return tuple(strides)


def checked(info: ArrayInfo) -> ArrayInfo:
    """The same, after the checks that hold for arrays of every origin."""
    if info.empty:
        return info
    if info.pointer == 0:
        raise launch_error("array-null", f"an array of shape {info.shape} has no memory (address 0)")
    natural = min(info.itemsize, 16)
    if info.pointer % natural:
        raise launch_error(
            "array-misaligned",
            f"the array begins at address {info.pointer:#x}, which its {info.itemsize}-byte elements do not divide",
            help="copy the array: numpy.require(x, requirements='A') or x.clone()",
        )
    return info


def byte_range(info: ArrayInfo) -> tuple[int, int]:
    """First and one-past-last byte of the array, from the address of element 0. (0, 0) if it is empty."""
    if info.empty:
        return 0, 0
    low = high = 0
    for extent, stride in zip(info.shape, info.strides, strict=True):
        reach = (extent - 1) * stride
        if reach < 0:
            low += reach
        else:
            high += reach
    return low * info.itemsize, (high + 1) * info.itemsize
