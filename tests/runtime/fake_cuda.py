"""A stand-in for cuda.bindings.driver: two devices, host memory as device memory, and a list of what was called."""

from __future__ import annotations

import ctypes
import itertools
from enum import IntEnum
from types import SimpleNamespace
from typing import Any


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


OK = CUresult.CUDA_SUCCESS


def _constants(*names: str) -> Any:
    return SimpleNamespace(**{name: name for name in names})


class FakeCuda:
    """`launches`: (function, grid, block, shared, stream, argument words). `calls`: names in order."""

    CUdevice_attribute = _constants(
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
        "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
        "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT",
        "CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE",
    )
    CUpointer_attribute = _constants("CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL")
    CUtensorMapDataType = _constants("CU_TENSOR_MAP_DATA_TYPE_BFLOAT16", "CU_TENSOR_MAP_DATA_TYPE_FLOAT32")
    CUtensorMapSwizzle = _constants("CU_TENSOR_MAP_SWIZZLE_NONE", "CU_TENSOR_MAP_SWIZZLE_128B")
    CUtensorMapInterleave = _constants("CU_TENSOR_MAP_INTERLEAVE_NONE")
    CUtensorMapL2promotion = _constants("CU_TENSOR_MAP_L2_PROMOTION_L2_256B")
    CUtensorMapFloatOOBfill = _constants("CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE")
    CUfunction_attribute = _constants("CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES")
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)
    CUevent_flags = SimpleNamespace(CU_EVENT_DEFAULT=0, CU_EVENT_DISABLE_TIMING=2)
    CUstreamCaptureStatus = _constants("CU_STREAM_CAPTURE_STATUS_NONE")
    CUstreamCaptureMode = _constants("CU_STREAM_CAPTURE_MODE_THREAD_LOCAL")

    def __init__(self, archs: tuple[tuple[int, int], ...] = ((9, 0), (8, 0))) -> None:
        self.archs = archs
        self.current = 0  # contexts are 1000 + ordinal
        self.calls: list[str] = []
        self.launches: list[tuple[Any, ...]] = []
        self.functions: dict[int, tuple[int, bytes, str]] = {}  # handle -> context, image, name
        self.attributes: list[tuple[Any, ...]] = []
        self.maps: list[tuple[Any, ...]] = []  # what was encoded
        self.map_words: list[list[int]] = []  # the first two words of each map that was launched with
        self.map_arguments: tuple[int, ...] = ()  # which arguments are maps
        self.memory: dict[int, Any] = {}
        self.foreign: dict[int, int] = {}  # addresses of other frameworks -> device
        self.words = 3
        self.capturing: set[int] = set()  # streams
        self.elapsed = lambda: 1.5  # milliseconds between events
        self.fail: dict[str, CUresult] = {}
        self._handles = itertools.count(1)

    # Handles are integers here.
    @staticmethod
    def CUstream(handle: int) -> int:
        return handle

    @staticmethod
    def cuuint64_t(value: int) -> int:
        return value

    @staticmethod
    def cuuint32_t(value: int) -> int:
        return value

    @staticmethod
    def CUevent(handle: int) -> int:
        return handle

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("cu") and name[2:3].isupper():
            found = object.__getattribute__(self, name)

            def call(*args: Any) -> Any:
                self.calls.append(name)
                if name in self.fail:
                    return (self.fail[name],)
                return found(*args)

            return call
        return object.__getattribute__(self, name)

    def cuGetErrorString(self, result: CUresult) -> Any:
        return OK, f"what {result.name} means".encode()

    # ---- devices ----

    def cuDeviceGetCount(self) -> Any:
        return OK, len(self.archs)

    def cuDeviceGet(self, ordinal: int) -> Any:
        return OK, ordinal

    def cuDeviceGetName(self, length: int, device: int) -> Any:
        return OK, f"Fake {device}".encode() + b"\0" * 8

    def cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return OK, 1000 + device

    def cuDeviceGetAttribute(self, kind: str, device: int) -> Any:
        major, minor = self.archs[device]
        shared = 232448 if major == 9 else 166912
        values = {"MAJOR": major, "MINOR": minor, "OPTIN": shared, "COUNT": 132, "SIZE": 1 << 20}
        return OK, values[kind.rpartition("_")[2]]

    def cuCtxGetCurrent(self) -> Any:
        return OK, self.current

    def cuCtxSetCurrent(self, context: int) -> Any:
        self.current = context
        return (OK,)

    def cuCtxSynchronize(self) -> Any:
        return (OK,)

    def cuPointerGetAttribute(self, kind: str, pointer: int) -> Any:
        for start, memory in self.memory.items():
            if start <= pointer < start + max(1, len(memory[1])):
                return OK, memory[0]
        if pointer in self.foreign:
            return OK, self.foreign[pointer]
        return CUresult.CUDA_ERROR_INVALID_VALUE, 0

    # ---- modules ----

    def cuModuleLoadData(self, image: bytes) -> Any:
        return OK, (self.current, image)

    def cuModuleGetFunction(self, module: Any, name: bytes) -> Any:
        handle = next(self._handles)
        self.functions[handle] = (*module, name.decode())
        return OK, handle

    def cuFuncSetAttribute(self, *args: Any) -> Any:
        self.attributes.append(args)
        return (OK,)

    def cuLaunchKernel(self, function: int, *args: Any) -> Any:
        gx, gy, gz, bx, by, bz, shared, stream, params, extra = args
        assert extra == 0
        context, _, name = self.functions[function]
        if self.current == 0:
            return (CUresult.CUDA_ERROR_INVALID_CONTEXT,)
        if self.current != context:
            return (CUresult.CUDA_ERROR_INVALID_HANDLE,)
        addresses = (ctypes.c_uint64 * self.words).from_address(params)
        words = [ctypes.c_uint64.from_address(a).value for a in addresses]
        for at in self.map_arguments:
            assert addresses[at] % 64 == 0
            self.map_words.append(list((ctypes.c_uint64 * 16).from_address(addresses[at]))[:2])
        self.launches.append((name, (gx, gy, gz), (bx, by, bz), shared, stream, words))
        return (OK,)

    def cuTensorMapEncodeTiled(self, kind: str, rank: int, pointer: int, *more: Any) -> Any:
        self.maps.append((kind, rank, pointer, *more))
        held = (ctypes.c_uint64 * 16)(pointer, *([len(self.maps)] * 15))
        return OK, SimpleNamespace(getPtr=lambda: ctypes.addressof(held), held=held)

    # ---- memory: the host's ----

    def cuMemAlloc(self, count: int) -> Any:
        memory = (ctypes.c_char * (count + 256))()
        start = ctypes.addressof(memory) + -ctypes.addressof(memory) % 256
        self.memory[start] = (self.current - 1000, memory[:count], memory)
        return OK, start

    def cuMemFree(self, pointer: int) -> Any:
        self.memory.pop(pointer, None)
        return (OK,)

    def cuMemcpyHtoD(self, target: int, source: int, count: int) -> Any:
        ctypes.memmove(target, source, count)
        return (OK,)

    def cuMemcpyDtoH(self, target: int, source: int, count: int) -> Any:
        ctypes.memmove(target, source, count)
        return (OK,)

    def cuMemsetD8(self, target: int, value: int, count: int) -> Any:
        ctypes.memset(target, value, count)
        return (OK,)

    def cuMemsetD8Async(self, target: int, value: int, count: int, stream: int) -> Any:
        ctypes.memset(target, value, count)
        return (OK,)

    def cuMemcpyDtoDAsync(self, target: int, source: int, count: int, stream: int) -> Any:
        ctypes.memmove(target, source, count)
        return (OK,)

    # ---- streams, events, graphs ----

    def cuStreamCreate(self, flags: int) -> Any:
        return OK, 0x5000 + next(self._handles)

    def cuStreamDestroy(self, stream: int) -> Any:
        return (OK,)

    def cuStreamSynchronize(self, stream: int) -> Any:
        return (OK,)

    def cuEventCreate(self, flags: int) -> Any:
        return OK, 0x7000 + next(self._handles)

    def cuEventDestroy(self, event: int) -> Any:
        return (OK,)

    def cuEventRecord(self, event: int, stream: int) -> Any:
        self.calls.append(f"record on {stream:#x}")
        return (OK,)

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> Any:
        self.calls.append(f"wait on {stream:#x}")
        return (OK,)

    def cuEventSynchronize(self, event: int) -> Any:
        return (OK,)

    def cuEventQuery(self, event: int) -> Any:
        return (OK,)

    def cuEventElapsedTime(self, start: int, end: int) -> Any:
        return OK, self.elapsed()

    def cuStreamBeginCapture(self, stream: int, mode: Any) -> Any:
        return (OK,)

    def cuStreamIsCapturing(self, stream: int) -> Any:
        return OK, "ACTIVE" if stream in self.capturing else "CU_STREAM_CAPTURE_STATUS_NONE"

    def cuStreamEndCapture(self, stream: int) -> Any:
        return OK, "graph"

    def cuGraphInstantiate(self, graph: Any, flags: int) -> Any:
        return OK, "executable"

    def cuGraphDestroy(self, graph: Any) -> Any:
        return (OK,)

    def cuGraphLaunch(self, executable: Any, stream: int) -> Any:
        self.calls.append(f"replay on {stream:#x}")
        return (OK,)

    def cuGraphExecDestroy(self, executable: Any) -> Any:
        return (OK,)
