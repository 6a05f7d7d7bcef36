"""Arrays of other frameworks: CuPy's own fields, and the protocols that any array may speak.

An object that speaks a protocol is inspected at every launch: its key is all that was read of it.
"""

from __future__ import annotations

from typing import Any

from tileopt.backends.runtime import dlpack, numpy_arrays
from tileopt.backends.runtime.arrays import (
    ArrayInfo,
    Key,
    Reader,
    checked,
    contiguous_strides,
    element_name,
    element_strides,
)
from tileopt.backends.runtime.errors import launch_error


def _cupy_key(array: Any) -> Key:
    pointer: int = array.data.ptr
    low = pointer & 15 if pointer else -1
    return pointer, (array.shape, array.strides, array.dtype, low, array.data.device_id)


def _cupy_inspect(array: Any) -> ArrayInfo:
    name = element_name(array.dtype)
    size = int(array.itemsize)
    strides = element_strides(array.strides, size, array.shape)
    return checked(ArrayInfo(int(array.data.ptr), array.shape, strides, name, size, int(array.data.device_id)))


CUPY = Reader("cupy", _cupy_key, _cupy_inspect)


def speaks(value: object) -> bool:
    """Whether the object offers a protocol that is read here."""
    for name in ("__cuda_array_interface__", "__dlpack__", "__array_interface__"):
        if getattr(type(value), name, None) is not None or getattr(value, name, None) is not None:
            return True
    try:
        memoryview(value).release()  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def inspect(value: Any) -> ArrayInfo:
    """By the first protocol that this very object offers: a framework's CPU arrays lack the CUDA interface."""
    try:
        cuda = getattr(value, "__cuda_array_interface__", None)
    except (TypeError, RuntimeError):  # frameworks raise these for dtypes that the interface cannot name
        cuda = None
    if cuda is not None:
        return checked(_from_cuda_interface(cuda))
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return checked(dlpack.inspect(value))
    import numpy as np

    try:
        array = np.asarray(value if hasattr(value, "__array_interface__") else memoryview(value))
    except (TypeError, ValueError, BufferError) as error:
        raise launch_error("array-protocol", f"{type(value).__name__} cannot be read as an array: {error}") from error
    return numpy_arrays.inspect(array)


def _from_cuda_interface(fields: Any) -> ArrayInfo:
    import numpy as np

    try:
        pointer, readonly = fields["data"]
        shape = tuple(int(n) for n in fields["shape"])
        dtype = np.dtype(fields["typestr"])
        strides = fields.get("strides")
        if strides is not None:
            strides = tuple(int(n) for n in strides)
    except (KeyError, TypeError, ValueError) as error:
        raise launch_error("array-protocol", f"a malformed __cuda_array_interface__: {error!r}") from error
    if fields.get("mask") is not None:
        raise launch_error("array-masked", "a masked array would be read without its mask")
    if any(n < 0 for n in shape) or (strides is not None and len(strides) != len(shape)):
        raise launch_error("array-protocol", f"a malformed __cuda_array_interface__: shape {shape}, strides {strides}")
    name = element_name(dtype)
    in_elements = contiguous_strides(shape) if strides is None else element_strides(strides, dtype.itemsize, shape)
    pointer = int(pointer or 0)
    device = _device_of(pointer) if pointer else 0
    stream = fields.get("stream")
    return ArrayInfo(
        pointer,
        shape,
        in_elements,
        name,
        dtype.itemsize,
        device,
        not readonly,
        None if stream is None else int(stream),
    )


def _device_of(pointer: int) -> int:
    """The CUDA device that an address belongs to. A module-level name so that tests can stand in for a driver."""
    from tileopt.backends.nvidia import driver

    return driver.device_of_pointer(pointer)


def _generic_key(value: Any) -> Key:
    info = inspect(value)
    # The alignment stands for the address; all else must agree.
    low = info.pointer & 15 if info.pointer else -1
    return info.pointer, (low, info.shape, info.strides, info.dtype, info.device, info.writable, info.stream)


GENERIC = Reader("protocol", _generic_key, inspect)
