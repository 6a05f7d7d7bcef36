"""Reads a DLPack capsule: the tensor's fields, without taking the capsule over (its destructor frees the tensor)."""

from __future__ import annotations

import ctypes
from typing import Any

from tileopt.backends.runtime.arrays import FOUR_BITS, HOST, ArrayInfo, contiguous_strides, itemsize
from tileopt.backends.runtime.errors import launch_error

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
_READ_ONLY = 1
_KINDS = {0: "i", 1: "u", 2: "f", 4: "bf", 6: "bool", 10: "f8e4m3fn", 12: "f8e5m2", 14: "f8e8m0fnu"}
_FOUR_BITS = {0: "i4", 1: "u4", 17: "f4e2m1fn"}
_WHOLE = ("bool", "f8e4m3fn", "f8e5m2", "f8e8m0fnu")  # kinds whose name says their 8 bits


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


def _address(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, name) or 0)


def _is_named(capsule: object, name: bytes) -> bool:
    valid = ctypes.pythonapi.PyCapsule_IsValid
    valid.restype, valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    return bool(valid(capsule, name))


def _capsule(value: Any) -> object:
    kind = int(value.__dlpack_device__()[0])
    # On a GPU the producer must order its work before ours: 1 is the legacy default stream, which waits for all
    # blocking streams. A launch on another stream then waits for that one.
    options: dict[str, Any] = {"stream": 1} if kind in (_CUDA, _CUDA_MANAGED) else {}
    try:
        return value.__dlpack__(max_version=(1, 0), **options)
    except TypeError:
        return value.__dlpack__(**options)


def inspect(value: Any) -> ArrayInfo:
    """One object with `__dlpack__`."""
    try:
        capsule = _capsule(value)
    except (BufferError, RuntimeError, ValueError, TypeError) as error:
        raise launch_error("array-protocol", f"__dlpack__ of {type(value).__name__} failed: {error}") from error
    writable = True
    if _is_named(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_address(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise launch_error("array-protocol", f"DLPack version {versioned.major}.{versioned.minor} is unknown")
        tensor, writable = versioned.tensor, not versioned.flags & _READ_ONLY
    elif _is_named(capsule, b"dltensor"):
        tensor = _Tensor.from_address(_address(capsule, b"dltensor"))
    else:
        raise launch_error("array-protocol", f"__dlpack__ of {type(value).__name__} gives no DLPack capsule")
    name = _element(tensor)
    rank = tensor.ndim
    shape = tuple(tensor.shape[i] for i in range(rank))
    strides = tuple(tensor.strides[i] for i in range(rank)) if tensor.strides else contiguous_strides(shape)
    if tensor.device_type not in (_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED):
        raise launch_error("array-device", f"an array on a device of DLPack type {tensor.device_type}")
    on_gpu = tensor.device_type in (_CUDA, _CUDA_MANAGED)
    pointer = (tensor.data or 0) + tensor.byte_offset
    return ArrayInfo(
        pointer,
        shape,
        strides,
        name,
        itemsize(name),
        tensor.device_id if on_gpu else HOST,
        writable,
        1 if on_gpu else None,
    )


def _element(tensor: _Tensor) -> str:
    kind, bits = _KINDS.get(tensor.code), tensor.bits
    if kind is not None and tensor.lanes == 1:
        name = kind if kind in _WHOLE else f"{kind}{bits}"
        if name in _WHOLE and bits != 8:
            name = ""
        try:
            itemsize(name)
            return name
        except KeyError:
            pass
    four = tensor.bits == 4 and _FOUR_BITS.get(tensor.code)
    raise launch_error(
        "array-dtype",
        f"no kernel takes an array of DLPack type code {tensor.code}, {bits} bits, {tensor.lanes} lanes",
        help=FOUR_BITS.format(four)
        if four
        else "element types are bool, 8 to 64-bit integers, f16, bf16, f32, f64, f8e4m3fn, f8e5m2 and f8e8m0fnu",
    )
