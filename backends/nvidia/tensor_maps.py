"""Tensor maps on the host: an array's address, extents and strides as the copy engine reads them.

CUDA driver API, `cuTensorMapEncodeTiled`: extents and strides from the fastest axis to the slowest, strides in bytes
and without the fastest axis' own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tileopt.backends.compiled import ParamSlot
from tileopt.backends.nvidia import driver
from tileopt.backends.runtime.arrays import ArrayInfo
from tileopt.backends.runtime.plan import MAP_BYTES
from tileopt.backends.runtime.signature import launch_strides

_TYPES = {
    "bool": "UINT8",
    "i8": "UINT8",
    "u8": "UINT8",
    "f8e4m3fn": "UINT8",
    "f8e5m2": "UINT8",
    "f8e8m0fnu": "UINT8",
    "i16": "UINT16",
    "u16": "UINT16",
    "i32": "INT32",
    "u32": "UINT32",
    "i64": "INT64",
    "u64": "UINT64",
    "f16": "FLOAT16",
    "bf16": "BFLOAT16",
    "f32": "FLOAT32",
    "f64": "FLOAT64",
}
_UNIT = 16  # bytes, which divides all strides
_ZEROS = 256  # bytes; a map of an empty array is of a zero outside of any


def encoder(slot: ParamSlot, info: ArrayInfo, device: int) -> Callable[[int], bytes]:
    """Makes the map of an array like `info` at an address. Raises DeviceError where the driver refuses it."""
    axes = tuple(reversed(slot.order))
    if info.empty:
        ones = (1,) * len(axes)
        return lambda _: _encode(slot, zeros(device), ones, (0,) * len(axes), axes)
    extents = tuple(info.shape[axis] for axis in axes)
    strides = tuple(launch_strides(info)[0][axis] * info.itemsize for axis in axes)
    return lambda pointer: _encode(slot, pointer, extents, strides, axes)


def _encode(
    slot: ParamSlot, pointer: int, extents: tuple[int, ...], strides: tuple[int, ...], axes: tuple[int, ...]
) -> bytes:
    cu: Any = driver.bindings()
    kind = getattr(cu.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{_TYPES[slot.dtype]}")
    swizzle = getattr(cu.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{f'{slot.swizzle}B' if slot.swizzle else 'NONE'}")
    # The stride of an axis with one element addresses nothing, and is 0 here.
    # The driver wants some stride of an array of one axis, too, and does not read it.
    steps = [stride or _UNIT for stride in strides[1:]] or [_UNIT]
    made = driver.call(
        "describe an array to the copy engine",
        "cuTensorMapEncodeTiled",
        kind,
        len(extents),
        pointer,
        [cu.cuuint64_t(n) for n in extents],
        [cu.cuuint64_t(n) for n in steps],
        [cu.cuuint32_t(slot.box[axis]) for axis in axes],
        [cu.cuuint32_t(1) for _ in axes],
        cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        swizzle,
        cu.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        cu.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    return ctypes.string_at(int(made.getPtr()), MAP_BYTES)


@lru_cache(maxsize=16)
def zeros(device: int) -> int:
    """The address of zeros on the device."""
    pointer = driver.allocate(device, _ZEROS)
    driver.clear(device, pointer, _ZEROS)
    return pointer
