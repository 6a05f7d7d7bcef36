"""Arrays in CUDA memory for programs that have neither PyTorch nor CuPy, and NumPy arrays where there is no GPU.

A `DeviceArray` is a strided view of memory that is freed with the last view of it. It computes nothing: kernels do.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, SupportsIndex

from tileopt.backends.runtime.arrays import (
    ArrayInfo,
    Key,
    Reader,
    byte_range,
    checked,
    contiguous_strides,
    itemsize,
    reader_for,
)
from tileopt.backends.runtime.errors import launch_error
from tileopt.dialects.diagnostics import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    AnyArray = NDArray[Any]

Device = int | str | None


class _Memory:
    """One allocation."""

    __slots__ = ("__weakref__", "device", "pointer")

    def __init__(self, device: int, count: int) -> None:
        from tileopt.backends.nvidia import driver

        self.device = device
        self.pointer = driver.allocate(device, count)
        weakref.finalize(self, _release, device, self.pointer).atexit = False


def _release(device: int, pointer: int) -> None:
    from tileopt.backends.nvidia import driver
    from tileopt.dialects.diagnostics import DeviceError

    try:
        driver.free(device, pointer)
    except DeviceError:
        # A failed kernel took the context and its memory with it; a finaliser has nobody to tell.
        return


_KEYS: dict[Hashable, Hashable] = {}
_KEYS_MAX = 4096


class DeviceArray:
    """An array in the memory of one CUDA device. Made by `tileopt.zeros`, `empty` and `asarray`."""

    __slots__ = ("__weakref__", "_address", "_info", "_key", "_memory")

    def __init__(self, info: ArrayInfo, memory: object) -> None:
        self._info = info
        self._memory = memory
        low = info.pointer & 15 if info.pointer else -1
        self._address = info.pointer
        key = (info.shape, info.strides, info.dtype, low, info.device)
        if len(_KEYS) >= _KEYS_MAX:
            _KEYS.clear()
        self._key: Hashable = _KEYS.setdefault(key, key)  # equal keys are one object: native code compares identities

    @property
    def shape(self) -> tuple[int, ...]:
        return self._info.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes, as NumPy has it."""
        return tuple(s * self._info.itemsize for s in self._info.strides)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type (ml_dtypes for bfloat16 and float8)."""
        from tileopt.dialects.dtypes import DTYPES

        return DTYPES[self._info.dtype].numpy

    @property
    def device(self) -> int:
        return self._info.device

    @property
    def ndim(self) -> int:
        return len(self._info.shape)

    @property
    def size(self) -> int:
        count = 1
        for extent in self._info.shape:
            count *= extent
        return count

    @property
    def itemsize(self) -> int:
        return self._info.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self._info.itemsize

    def data_ptr(self) -> int:
        """The address of element 0."""
        return self._info.pointer

    def __len__(self) -> int:
        if not self._info.shape:
            raise TypeError("an array of rank 0 has no length")
        return self._info.shape[0]

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self._info.dtype}, device=cuda:{self.device})"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._info.dtype in ("bf16", "f8e4m3fn", "f8e5m2", "f8e8m0fnu"):
            raise AttributeError(f"__cuda_array_interface__ has no name for {self._info.dtype}")
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._info.pointer, False),
            "strides": self.strides,
            "stream": None,
        }

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        if copy is False:
            raise ValueError("an array on a GPU cannot become a NumPy array without a copy")
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def numpy(self) -> AnyArray:
        """A copy on the host, of the same shape; waits for the device."""
        return to_numpy(self)

    # ---- views ----

    @property
    def T(self) -> DeviceArray:
        """The axes in reverse order."""
        return self._view(self._info.pointer, self._info.shape[::-1], self._info.strides[::-1])

    def transpose(self, *axes: int) -> DeviceArray:
        """The axes in another order."""
        if sorted(axes) != list(range(self.ndim)):
            raise ValueError(f"{axes} is not a permutation of {self.ndim} axes")
        shape, strides = self._info.shape, self._info.strides
        return self._view(self._info.pointer, tuple(shape[a] for a in axes), tuple(strides[a] for a in axes))

    def reshape(self, *shape: int) -> DeviceArray:
        """The same elements under other extents, in row-major order; the array must be contiguous."""
        count = 1
        for extent in shape:
            count *= extent
        if count != self.size:
            raise ValueError(f"an array of {self.size} elements cannot take the shape {shape}")
        if self.size and self._info.strides != contiguous_strides(self._info.shape):
            raise ValueError("reshape needs a contiguous array")
        return self._view(self._info.pointer, shape, contiguous_strides(shape))

    def __getitem__(self, index: Any) -> DeviceArray:
        """A view: integers, slices and ... as in NumPy."""
        items = list(index) if isinstance(index, tuple) else [index]
        if Ellipsis in items:
            at = items.index(Ellipsis)
            items[at : at + 1] = [slice(None)] * (self.ndim - len(items) + 1)
        items += [slice(None)] * (self.ndim - len(items))
        if len(items) != self.ndim:
            raise IndexError(f"{counted(len(items), 'index', 'indices')} for an array of rank {self.ndim}")
        offset, shape, strides = 0, [], []
        for item, extent, stride in zip(items, self._info.shape, self._info.strides, strict=True):
            if isinstance(item, slice):
                start, stop, step = item.indices(extent)
                count = len(range(start, stop, step))
                shape.append(count)
                strides.append(stride * step)
                offset += start * stride if count else 0
            else:
                offset += _position(item, extent) * stride
        pointer = self._info.pointer + offset * self._info.itemsize
        return self._view(pointer, tuple(shape), tuple(strides))

    def _view(self, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> DeviceArray:
        check_moved(self)
        old = self._info
        return DeviceArray(ArrayInfo(pointer, shape, strides, old.dtype, old.itemsize, old.device), self._memory)


def check_moved(value: Any) -> None:
    """Raises OwnershipError where the array was given away by `tileopt.move`."""
    from tileopt.backends.runtime import moves

    if moves.MOVED:
        moves.check([value])


def _position(item: SupportsIndex, extent: int) -> int:
    at = item.__index__()
    if not -extent <= at < extent:
        raise IndexError(f"index {at} is outside an axis of {extent}")
    return at + extent if at < 0 else at


def _key(array: DeviceArray) -> Key:
    return array._info.pointer, array._key


def _inspect(array: DeviceArray) -> ArrayInfo:
    return checked(array._info)


READER = Reader("tileopt", _key, _inspect)


@lru_cache(maxsize=1)
def native_fields() -> tuple[int, int] | None:
    """Where, in bytes from its beginning, an array's object has its key and its address; None if that is not found."""
    import ctypes

    probe = DeviceArray(ArrayInfo(0x7E57_0000_1000, (3, 5), (5, 1), "f32", 4, 0), None)
    words = range(object.__basicsize__, DeviceArray.__basicsize__, 8)
    found = {ctypes.c_uint64.from_address(id(probe) + at).value: at for at in words}
    key, address = found.get(id(probe._key)), found.get(id(probe._address))
    return None if key is None or address is None else (key, address)


# ---- making and copying ----


def _element(dtype: Any) -> str:
    from tileopt.backends.runtime.arrays import element_name
    from tileopt.dialects.dtypes import DTYPES

    if isinstance(dtype, str) and dtype in DTYPES:
        return dtype
    name = getattr(dtype, "name", None)
    if isinstance(name, str) and name in DTYPES:
        return name
    import numpy as np

    try:
        found = np.dtype(dtype)
    except TypeError:
        raise launch_error("array-dtype", f"{dtype!r} is no element type", help=f"one of {', '.join(DTYPES)}") from None
    return element_name(found)


def place(device: Device) -> int | None:
    """A CUDA ordinal, or None for the host. Left out: the default target's side, else the GPU if there is one."""
    from tileopt.backends.nvidia import driver
    from tileopt.backends.runtime import defaults

    if device is None:
        kind = defaults.target_kind()
        if kind is None:
            return 0 if driver.available() else None
        return None if kind == "cpu" else 0
    if isinstance(device, int):
        return device
    name, _, number = device.partition(":")
    if name == "cpu" and not number:
        return None
    if name == "cuda" and (not number or number.isdigit()):
        return int(number or 0)
    raise launch_error("device", f"'{device}' is no device", help="'cpu', 'cuda', 'cuda:1', or a CUDA ordinal")


def _shape(shape: Any) -> tuple[int, ...]:
    extents = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    result = tuple(int(n.__index__()) for n in extents)
    if any(n < 0 for n in result):
        raise launch_error("array-shape", f"a shape has no negative extents, and {result} has")
    return result


def empty(shape: int | tuple[int, ...], dtype: Any = "f32", device: Device = None) -> DeviceArray | AnyArray:
    """An array whose elements are undefined: on a CUDA device, or of NumPy on the host. See `place` for `device`."""
    where, name, extents = place(device), _element(dtype), _shape(shape)
    if where is None:
        import numpy as np

        from tileopt.dialects.dtypes import DTYPES

        return np.empty(extents, DTYPES[name].numpy)
    count = itemsize(name)
    for extent in extents:
        count *= extent
    memory = _Memory(where, count)
    info = ArrayInfo(memory.pointer, extents, contiguous_strides(extents), name, itemsize(name), where)
    return DeviceArray(info, memory)


def zeros(shape: int | tuple[int, ...], dtype: Any = "f32", device: Device = None) -> DeviceArray | AnyArray:
    """As `empty`, with all elements zero."""
    found = empty(shape, dtype, device)
    if isinstance(found, DeviceArray):
        from tileopt.backends.nvidia import driver

        driver.clear(found.device, found.data_ptr(), found.nbytes)
    else:
        found[...] = 0
    return found


def asarray(value: Any, dtype: Any = None, device: Device = None) -> DeviceArray | AnyArray:
    """An array with the values of a NumPy array, a list or any array; no copy where it is there already."""
    where = place(device)
    check_moved(value)
    import numpy as np

    from tileopt.dialects.dtypes import DTYPES

    wanted = None if dtype is None else DTYPES[_element(dtype)].numpy
    if isinstance(value, DeviceArray) and value.device == where and (wanted is None or value.dtype == wanted):
        return value
    host = np.asarray(to_numpy(value) if reader_for(value) is not None else value, dtype=wanted)
    if where is None:
        return host
    host = np.ascontiguousarray(host).reshape(host.shape)
    found = empty(host.shape, host.dtype, where)
    assert isinstance(found, DeviceArray)
    from tileopt.backends.nvidia import driver

    driver.copy_in(where, found.data_ptr(), host.__array_interface__["data"][0], host.nbytes)
    return found


def to_numpy(value: Any) -> AnyArray:
    """The values of any array as a NumPy array: a copy from a GPU, which waits for the device; else no copy."""
    import numpy as np

    check_moved(value)
    if isinstance(value, np.ndarray):
        return value
    reader = reader_for(value)
    if reader is None:
        raise launch_error("not-an-array", f"{type(value).__name__} is no array")
    info = reader.inspect(value)
    from tileopt.dialects.dtypes import DTYPES

    dtype = DTYPES[info.dtype].numpy
    if info.empty:
        return np.empty(info.shape, dtype)
    low, high = byte_range(info)
    if info.device >= 0:
        from tileopt.backends.nvidia import driver

        driver.synchronize(info.device)
        flat = np.empty(high - low, np.uint8)
        driver.copy_out(info.device, flat.__array_interface__["data"][0], info.pointer + low, high - low)
    else:
        import ctypes

        flat = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(info.pointer + low))
    strides = tuple(s * info.itemsize for s in info.strides)
    found: AnyArray = np.ndarray(info.shape, dtype, flat.data, -low, strides)
    # A view of the host's memory must not outlive it, and one of a private copy need not be strided.
    return np.array(found)
