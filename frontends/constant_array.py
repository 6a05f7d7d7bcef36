"""Arrays of numbers that are constants of a kernel: frozen when they are made, and part of its code."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from tileopt.dialects.diagnostics import KernelTypeError, call_site, shown
from tileopt.dialects.dtypes import DType, from_numpy
from tileopt.dialects.simt_constant import MAX_CONSTANT_BYTES


@dataclass(frozen=True)
class ConstantArray:
    """`data`: the elements, row-major and little-endian, a byte for a bool."""

    dtype: DType
    shape: tuple[int, ...]
    data: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """Differs where two constants do."""
        return hashlib.sha256(f"{self.dtype.name}{self.shape}".encode() + self.data).hexdigest()

    def __len__(self) -> int:
        return self.shape[0]


def constant(array: Any) -> ConstantArray:
    """The array as it is now, as a constant that kernels of threads may read: `TABLE = simt.constant(weights)`.

    In a kernel TABLE is an array: `TABLE[i, j]`, `len(TABLE)`, `TABLE.shape`. It has at most 64 KiB, and lies in the
    constant memory of a GPU, which is fast where all lanes of a warp read one element.

    Errors: `type/constant-array` for what is no array of numbers, has no element or no axis, or is too large.
    """
    import numpy as np

    given = np.asarray(array)
    dtype = from_numpy(given.dtype)
    if dtype is None or not given.ndim or not given.size:
        what = f"an array of shape {shown(given.shape)} and type {given.dtype}"
        raise KernelTypeError(
            "type/constant-array", f"{what} cannot be a constant of a kernel", location=call_site(), help=_HELP
        )
    if given.size * dtype.bytes > MAX_CONSTANT_BYTES:
        raise KernelTypeError(
            "type/constant-array",
            f"a constant of {given.size * dtype.bytes} bytes, more than {MAX_CONSTANT_BYTES}",
            location=call_site(),
            help="pass it as a parameter, simt.Slice",
        )
    little = given.astype(given.dtype.newbyteorder("<"), copy=False)
    return ConstantArray(dtype, given.shape, little.tobytes())


def as_constant(thing: Any) -> ConstantArray | None:
    """The constant that a captured thing is: one of ours, or a NumPy array that nothing can write to any more.

    Raises KernelTypeError as `constant` does.
    """
    if isinstance(thing, ConstantArray):
        return thing
    return constant(thing) if is_array(thing) and _is_frozen(thing) else None


def is_array(thing: Any) -> bool:
    """Whether it is a NumPy array (without importing NumPy where nobody did)."""
    return type(thing).__module__ == "numpy" and type(thing).__name__ == "ndarray"


def _is_frozen(array: Any) -> bool:
    """Whether nothing can write to the array, through none of the arrays that it is a view of either."""
    while is_array(array):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None


_HELP = "give a NumPy array of numbers with at least one axis and one element"
