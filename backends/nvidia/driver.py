"""The CUDA driver through cuda.bindings: devices and their primary contexts, modules, launches, memory.

Nothing is imported or initialised before the first use. Every failure is a DeviceError with the driver's name for it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from threading import RLock
from typing import Any, Protocol

from tileopt.backends.runtime import order
from tileopt.dialects.diagnostics import DeviceError, TileoptError

_INSTALL = "install NVIDIA's driver, and the package's 'cuda' extra: pip install tileopt[cuda]"
_STICKY = (
    "a kernel that ran before failed, and its context is lost: start a new process; "
    "run the kernel on the CPU, or the program under compute-sanitizer, to find the access"
)
_ADVICE = {
    "CUDA_ERROR_OUT_OF_MEMORY": "free arrays, or make them smaller; other processes may hold the device's memory too",
    "CUDA_ERROR_NO_DEVICE": "no CUDA device is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES",
    "CUDA_ERROR_ILLEGAL_ADDRESS": _STICKY,
    "CUDA_ERROR_MISALIGNED_ADDRESS": _STICKY,
    "CUDA_ERROR_LAUNCH_FAILED": _STICKY,
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "a check in a kernel failed, or its code is for another device; " + _STICKY,
    "CUDA_ERROR_ASSERT": "a check in a kernel failed; " + _STICKY,
    "CUDA_ERROR_LAUNCH_TIMEOUT": "the kernel ran longer than the display's watchdog allows; " + _STICKY,
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "the block needs more registers or shared memory than a multiprocessor has: "
    "use smaller tiles, fewer stages or fewer warps",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "the code was made for another architecture: give the device's own as target",
    "CUDA_ERROR_INVALID_IMAGE": "the driver cannot read the code: it may be older than the ptxas that made it",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the driver is older than the ptxas that made the code: update the driver",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the kernel module and libcuda are of different versions: reboot",
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": "launch each kernel once before the capture, so that it is compiled and "
    "loaded, and make arrays before it",
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED": "an operation that a graph cannot hold ran during the capture",
    "CUDA_ERROR_INVALID_HANDLE": "the stream or event was destroyed, or belongs to another device",
}


@lru_cache(maxsize=1)
def bindings() -> Any:
    """The module `cuda.bindings.driver`, initialised. Raises DeviceError where there is no driver."""
    try:
        cu: Any = importlib.import_module("cuda.bindings.driver")
        result = cu.cuInit(0)[0]
    except (ImportError, RuntimeError, OSError) as error:
        raise DeviceError("device/no-driver", f"the CUDA driver cannot be used: {error}", help=_INSTALL) from None
    if result:
        raise _error(cu, result, "initialise CUDA")
    return cu


@lru_cache(maxsize=1)
def available() -> bool:
    """Whether there is a driver and at least one device."""
    try:
        return device_count() > 0
    except DeviceError:
        return False


# Of each loaded kernel with checks: the error of a thread that failed one, if any did.
FAILED_CHECKS: list[Callable[[], TileoptError | None]] = []


def _error(cu: Any, result: Any, what: str) -> TileoptError:
    for failed in FAILED_CHECKS:
        found = failed()
        if found is not None:
            return found
    name = getattr(result, "name", str(result))
    text = cu.cuGetErrorString(result)[1]
    said = text.decode(errors="replace") if isinstance(text, bytes) else "unknown error"
    return DeviceError("device/" + _kebab(name), f"could not {what}: {name} ({said})", help=_ADVICE.get(name))


def _kebab(name: str) -> str:
    return name.removeprefix("CUDA_ERROR_").lower().replace("_", "-")


def call(what: str, name: str, *args: Any) -> Any:
    """Calls one driver function; gives its result, or the tuple of its results. `what` completes 'could not'."""
    cu = bindings()
    result, *values = getattr(cu, name)(*args)
    if result:
        raise _error(cu, result, what)
    return values[0] if len(values) == 1 else tuple(values)


# ---- devices ----


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU and its primary context, which all frameworks of a process share."""

    ordinal: int
    context: Any
    arch: int  # compute capability times ten
    name: str
    shared_bytes: int  # most dynamic shared memory of one block
    multiprocessors: int


@lru_cache(maxsize=1)
def device_count() -> int:
    return int(call("count the devices", "cuDeviceGetCount"))


@lru_cache(maxsize=16)
def l2_bytes(ordinal: int) -> int:
    """The size of the device's L2 cache."""
    with current(ordinal):
        kind = bindings().CUdevice_attribute.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
        return int(call("query a device", "cuDeviceGetAttribute", kind, call("open a device", "cuDeviceGet", ordinal)))


_DEVICES: dict[int, Device] = {}
_DEVICES_LOCK = RLock()  # a finaliser that frees memory may run while it is held


def device(ordinal: int) -> Device:
    """The device of this number. Its primary context is retained for the process' life."""
    found = _DEVICES.get(ordinal)
    if found is None:
        with _DEVICES_LOCK:
            found = _DEVICES.get(ordinal) or _open(ordinal)
            _DEVICES[ordinal] = found
    return found


def opened() -> tuple[int, ...]:
    """Ordinals of the devices that were used so far."""
    return tuple(_DEVICES)


def _open(ordinal: int) -> Device:
    count = device_count()
    if not 0 <= ordinal < count:
        raise DeviceError("device/no-such-device", f"there is no CUDA device {ordinal}", help=f"there are {count}")
    handle = call("open a device", "cuDeviceGet", ordinal)
    name = call("name a device", "cuDeviceGetName", 96, handle)
    context = call("use the primary context", "cuDevicePrimaryCtxRetain", handle)

    def attribute(word: str) -> int:
        kind = getattr(bindings().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{word}")
        return int(call("query a device", "cuDeviceGetAttribute", kind, handle))

    return Device(
        ordinal,
        context,
        attribute("COMPUTE_CAPABILITY_MAJOR") * 10 + attribute("COMPUTE_CAPABILITY_MINOR"),
        name.split(b"\0", 1)[0].decode(errors="replace"),
        attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        attribute("MULTIPROCESSOR_COUNT"),
    )


@contextmanager
def current(ordinal: int) -> Iterator[Device]:
    """Makes the device's context current in this thread; afterwards the thread has what it had."""
    found = device(ordinal)
    before = call("get the current context", "cuCtxGetCurrent")
    if int(before) == int(found.context):
        yield found
        return
    call("make a context current", "cuCtxSetCurrent", found.context)
    try:
        yield found
    finally:
        if int(before):
            call("restore the current context", "cuCtxSetCurrent", before)


def device_of_pointer(pointer: int) -> int:
    """The ordinal of the device that an address belongs to. Raises DeviceError where CUDA does not know it."""
    cu = bindings()
    kind = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    result, ordinal = cu.cuPointerGetAttribute(kind, pointer)
    if result:
        raise DeviceError(
            "device/unknown-address",
            f"address {pointer:#x} belongs to no CUDA device",
            help="the array's __cuda_array_interface__ or __dlpack__ is wrong, or its memory was freed",
        )
    return int(ordinal)


def synchronize(ordinal: int) -> None:
    """Waits for all work of the device."""
    with current(ordinal):
        call("synchronise the device", "cuCtxSynchronize")
    if order.active:
        order.tracker(ordinal).synchronize()


# ---- modules and launches ----

_DEFAULT_DYNAMIC_SHARED = 48 * 1024


class Arguments(Protocol):
    """`params`: address of the array of the arguments' addresses."""

    @property
    def params(self) -> int: ...


@lru_cache(maxsize=1)
def _launch_address() -> int | None:
    """Where cuLaunchKernel lies in memory."""
    import ctypes

    try:
        library = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
        return ctypes.cast(library.cuLaunchKernel, ctypes.c_void_p).value
    except (OSError, AttributeError):
        return None


class Function:
    """One kernel, loaded in one device's context."""

    __slots__ = ("_handle", "_launch", "_module", "_streams", "device", "name", "shared_bytes", "threads")

    def __init__(self, on: Device, image: bytes, name: str, threads: int, shared_bytes: int) -> None:
        if shared_bytes > on.shared_bytes:
            raise DeviceError(
                "device/shared-memory",
                f"a block of '{name}' needs {shared_bytes} bytes of shared memory, and {on.name} has {on.shared_bytes}",
                help="use smaller tiles or fewer stages",
            )
        cu = bindings()
        self.device, self.name, self.threads, self.shared_bytes = on, name, threads, shared_bytes
        with current(on.ordinal):
            self._module = call(f"load '{name}'", "cuModuleLoadData", image)
            self._handle = call(f"find '{name}' in its module", "cuModuleGetFunction", self._module, name.encode())
            if shared_bytes > _DEFAULT_DYNAMIC_SHARED:
                limit = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                call("reserve shared memory", "cuFuncSetAttribute", self._handle, limit, shared_bytes)
        self._launch: Callable[..., Any] = cu.cuLaunchKernel
        self._streams: dict[int, Any] = {}

    @property
    def native_launch(self) -> tuple[int, int, int, int] | None:
        """The addresses of cuLaunchKernel and of the kernel, threads of a block, shared bytes; None without libcuda."""
        address = _launch_address()
        return None if address is None else (address, int(self._handle), self.threads, self.shared_bytes)

    def launch(self, arguments: Arguments, grid: tuple[int, int, int], stream: int) -> None:
        """Queues the kernel on a stream."""
        handle = self._streams.get(stream)
        if handle is None:
            if len(self._streams) > 256:
                self._streams.clear()
            handle = self._streams[stream] = bindings().CUstream(stream)
        shared = self.shared_bytes
        (result,) = self._launch(self._handle, *grid, self.threads, 1, 1, shared, handle, arguments.params, 0)
        if result:
            self._retry(result, grid, handle, arguments.params)

    def _retry(self, result: Any, grid: tuple[int, int, int], stream: Any, params: int) -> None:
        # A thread whose current context is another one, or none, cannot launch: that is found out here, after the
        # fact, because asking before each launch would cost every launch.
        with current(self.device.ordinal):
            if result.name in ("CUDA_ERROR_INVALID_CONTEXT", "CUDA_ERROR_INVALID_HANDLE"):
                (result,) = self._launch(self._handle, *grid, self.threads, 1, 1, self.shared_bytes, stream, params, 0)
            if result:
                raise _error(bindings(), result, f"launch '{self.name}'")


# ---- memory ----


def allocate(ordinal: int, count: int) -> int:
    """Address of new memory on the device; 0 for no bytes."""
    if count == 0:
        return 0
    with current(ordinal):
        return int(call(f"allocate {count} bytes", "cuMemAlloc", count))


_held: list[tuple[int, int]] | None = None  # memory to free after the capture that is under way


def hold_frees() -> None:
    """From now on `free` only takes note: freeing would break a capture."""
    global _held
    _held = _held or []


def release_frees() -> None:
    """Frees what was held back."""
    global _held
    held, _held = _held or [], None
    for ordinal, pointer in held:
        free(ordinal, pointer)


def free(ordinal: int, pointer: int) -> None:
    """Frees memory; the driver waits for the work that uses it."""
    if pointer and _held is not None:
        _held.append((ordinal, pointer))
    elif pointer:
        with current(ordinal):
            call("free memory", "cuMemFree", pointer)
        if order.active:
            order.tracker(ordinal).freed(pointer)


def copy_in(ordinal: int, target: int, source: int, count: int) -> None:
    """Host to device."""
    if count:
        with current(ordinal):
            call("copy to the device", "cuMemcpyHtoD", target, source, count)
            # The copy of pageable memory may still be under way, and our streams do not wait for the default stream.
            call("copy to the device", "cuStreamSynchronize", 0)


def copy_out(ordinal: int, target: int, source: int, count: int) -> None:
    """Device to host."""
    if count:
        with current(ordinal):
            call("copy from the device", "cuMemcpyDtoH", target, source, count)


def clear(ordinal: int, pointer: int, count: int) -> None:
    """Sets memory to zero bytes."""
    if count:
        with current(ordinal):
            call("clear memory", "cuMemsetD8", pointer, 0, count)
            call("clear memory", "cuStreamSynchronize", 0)  # our streams do not wait for the default stream
