"""NumPy arrays: address and flags come straight from the array object, since NumPy's own ways cost a microsecond.

The object's head is part of NumPy's ABI (every compiled extension has it inlined). It is tried on one array first;
where it does not agree with NumPy, `__array_interface__` is read instead.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tileopt.backends.runtime.arrays import (
    ArrayInfo,
    Key,
    Reader,
    checked,
    element_name,
    element_strides,
    low_bits,
)
from tileopt.backends.runtime.errors import launch_error

if TYPE_CHECKING:
    import numpy as np

    AnyArray = np.ndarray[Any, Any]

_WRITEABLE = 0x0400


class _Fields(ctypes.Structure):
    """PyArrayObject_fields as far as it is read here."""

    _fields_ = [
        ("head", ctypes.c_char * object.__basicsize__),
        ("data", ctypes.c_size_t),
        ("nd", ctypes.c_int),
        ("dimensions", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("base", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
        ("flags", ctypes.c_int),
    ]


_fields_at = _Fields.from_address


def _key(array: AnyArray) -> Key:
    fields = _fields_at(id(array))
    pointer: int = fields.data
    return pointer, (array.shape, array.strides, array.dtype, pointer & 15, fields.flags & _WRITEABLE)


def _slow_key(array: AnyArray) -> Key:
    pointer, readonly = array.__array_interface__["data"]
    return pointer, (array.shape, array.strides, array.dtype, low_bits(pointer), readonly)


def inspect(array: AnyArray) -> ArrayInfo:
    """Refuses dtypes that no kernel takes and strides that split an element."""
    name = element_name(array.dtype)
    pointer, readonly = array.__array_interface__["data"]
    strides = element_strides(array.strides, array.itemsize, array.shape)
    return checked(ArrayInfo(pointer, array.shape, strides, name, array.itemsize, writable=not readonly))


@lru_cache(maxsize=1)
def head_is_known() -> bool:
    import platform

    if platform.python_implementation() != "CPython":
        return False
    import numpy as np

    for probe in (np.zeros((3, 2), np.int16), np.zeros(5)[1:]):
        for writable in (True, False):
            probe.setflags(write=writable)
            fields = _fields_at(id(probe))
            pointer, readonly = probe.__array_interface__["data"]
            if fields.data != pointer or fields.nd != probe.ndim or bool(fields.flags & _WRITEABLE) == readonly:
                return False
    return True


def _refuse_masked(array: AnyArray) -> Any:
    raise launch_error(
        "array-masked",
        "a masked array would be read without its mask",
        help="pass x.filled(value), or the data and the mask as two arrays",
    )


def reader(kind: type) -> Reader:
    """The reader of ndarray or of a subclass."""
    import numpy as np

    if issubclass(kind, np.ma.MaskedArray):
        return Reader("numpy", _refuse_masked, _refuse_masked)
    return Reader("numpy", _key if head_is_known() else _slow_key, inspect)
