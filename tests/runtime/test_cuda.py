"""Launches on GPUs against a fake driver: devices, contexts, streams, targets and the argument array."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from runtime.fake_cuda import CUresult, FakeCuda
from runtime.fakes import FakeKernel, parameter

import tileopt
from tileopt.backends.nvidia import driver
from tileopt.backends.runtime import fast_match, lifetimes
from tileopt.dialects.diagnostics import DeviceError, LaunchError, OwnershipError, TargetError

OUT = (parameter("out", "out"),)


def array(device: int = 0, count: int = 64) -> Any:
    return tileopt.zeros((count,), "f32", device)


def test_the_arguments_and_the_shape_of_a_launch(launch: Any, cuda: FakeCuda) -> None:
    x, kernel = array(), FakeKernel((*OUT, parameter("n", "scalar", "i32")))
    cuda.words = 4
    launch(kernel, (5, 6, 7), x, -1)
    assert cuda.launches == [("kernel", (5, 6, 7), (32, 1, 1), 0, 0, [x.data_ptr(), 64, 1, 0xFFFFFFFF])]
    launch(kernel, (9,), x, 5)
    assert cuda.launches[1][1] == (9, 1, 1)
    assert cuda.launches[1][5][3] == 5


def test_each_gpu_gets_its_own_code_once(launch: Any, cuda: FakeCuda) -> None:
    kernel = FakeKernel(OUT)
    for device in (0, 1, 0, 1):
        launch(kernel, (1,), array(device))
    assert len(kernel.builds) == 2
    assert sorted(cuda.functions.values()) == [
        (1000, b"cubin for sm_90a", "kernel"),
        (1001, b"cubin for sm_80", "kernel"),
    ]
    assert len(cuda.launches) == 4


def test_two_gpus_of_one_kind_share_a_compilation(launch: Any, cuda: FakeCuda) -> None:
    cuda.archs = ((9, 0), (9, 0))
    kernel = FakeKernel(OUT)
    launch(kernel, (1,), array(0))
    launch(kernel, (1,), array(1))
    assert len(kernel.builds) == 1
    assert [f[0] for f in cuda.functions.values()] == [1000, 1001]


def test_the_users_context_is_left_as_it_was(launch: Any, cuda: FakeCuda) -> None:
    kernel, x = FakeKernel(OUT), array()
    cuda.current = 77
    launch(kernel, (1,), x)
    launch(kernel, (1,), x)
    assert cuda.current == 77
    assert len(cuda.launches) == 2


def test_a_thread_without_a_context_gets_one(launch: Any, cuda: FakeCuda) -> None:
    kernel, x = FakeKernel(OUT), array()
    cuda.current = 0
    launch(kernel, (1,), x)
    assert cuda.current == 1000
    calls = len(cuda.calls)
    launch(kernel, (1,), x)
    assert cuda.calls[calls:] == ["cuLaunchKernel"]  # nothing else is asked on the short way


def test_large_shared_memory_is_reserved(launch: Any, cuda: FakeCuda) -> None:
    launch(FakeKernel(OUT, shared_bytes=100_000), (1,), array())
    assert cuda.attributes[0][1:] == ("CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", 100_000)
    assert cuda.launches[0][3] == 100_000
    with pytest.raises(DeviceError) as error:
        launch(FakeKernel(OUT, shared_bytes=240_000, source="2"), (1,), array())
    assert error.value.code == "device/shared-memory"
    assert "240000" in error.value.message
    assert "232448" in error.value.message


@pytest.mark.parametrize(
    ("grid", "fine"),
    [((2**31 - 1,), True), ((2**31,), False), ((1, 65535, 65535), True), ((1, 65536), False), ((1, 1, 65536), False)],
)
def test_the_hardwares_grid(launch: Any, cuda: FakeCuda, grid: Any, fine: bool) -> None:
    kernel, x = FakeKernel(OUT), array()
    if fine:
        launch(kernel, grid, x)
        assert cuda.launches[0][1][: len(grid)] == grid
        return
    with pytest.raises(LaunchError) as error:
        launch(kernel, grid, x)
    assert error.value.code == "launch/grid-too-large"


def test_arrays_in_different_places(launch: Any, cuda: FakeCuda) -> None:
    kernel = FakeKernel((parameter("x"), parameter("y"), *OUT))
    with pytest.raises(LaunchError) as error:
        launch(kernel, (1,), array(0), np.zeros(3), array(1))
    assert error.value.code == "launch/mixed-devices"
    for words in ("y on the host", "x on cuda:0", "out on cuda:1"):
        assert words in error.value.message
    launch(FakeKernel((parameter("x"), *OUT)), (1,), array(1, 0), array(0))  # an array without memory is anywhere


@pytest.mark.parametrize(
    ("target", "device", "fine"),
    [
        ("sm_90a", 0, True),
        ("sm_90", 0, True),
        ("sm_80", 0, False),
        ("sm_100a", 0, False),
        ("sm_80", 1, True),
        ("sm_86", 1, False),
        ("sm_75", 1, False),
        ("cpu", 0, False),
    ],
)
def test_targets_that_a_device_runs(launch: Any, cuda: FakeCuda, target: str, device: int, fine: bool) -> None:
    kernel, x = FakeKernel(OUT), array(device)
    if fine:
        launch(kernel, (1,), x, target=target)
        assert kernel.builds
        return
    with pytest.raises(LaunchError) as error:
        launch(kernel, (1,), x, target=target)
    assert error.value.code == "launch/target"


@pytest.mark.parametrize(
    ("arch", "name"),
    [((9, 0), "sm_90a"), ((8, 6), "sm_86"), ((10, 3), "sm_103a"), ((12, 9), "sm_120"), ((8, 8), "sm_87")],
)
def test_the_devices_own_target(launch: Any, cuda: FakeCuda, arch: tuple[int, int], name: str) -> None:
    cuda.archs = (arch,)
    launch(FakeKernel(OUT), (1,), array())
    assert [image for _, image, _ in cuda.functions.values()] == [f"cubin for {name}".encode()]


def test_a_device_without_a_target(launch: Any, cuda: FakeCuda) -> None:
    cuda.archs = ((6, 1),)
    with pytest.raises(TargetError) as error:
        launch(FakeKernel(OUT), (1,), array())
    assert error.value.code == "target/unsupported-device"


def test_driver_errors_carry_their_name(launch: Any, cuda: FakeCuda) -> None:
    kernel, x = FakeKernel(OUT), array()
    launch(kernel, (1,), x)
    cuda.fail["cuLaunchKernel"] = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DeviceError) as error:
        launch(kernel, (1,), x)
    assert error.value.code == "device/illegal-address"
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in error.value.message
    assert "new process" in str(error.value)
    cuda.fail = {"cuMemAlloc": CUresult.CUDA_ERROR_OUT_OF_MEMORY}
    with pytest.raises(DeviceError, match="4000000 bytes"):
        array(0, 10**6)


# ---- streams ----


def test_a_stream_of_any_kind(launch: Any, cuda: FakeCuda) -> None:
    kernel, x, ours = FakeKernel(OUT), array(), tileopt.Stream(0)

    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 0x33

    streams = [
        (0x11, 0x11),
        (ours, ours.handle),
        (SimpleNamespace(cuda_stream=0x22), 0x22),
        (Protocol(), 0x33),
        (SimpleNamespace(ptr=0x44), 0x44),
        (SimpleNamespace(handle=SimpleNamespace(value=None)), 0),
        (None, 0),
    ]
    for stream, _ in streams:
        launch(kernel, (1,), x, stream=stream)
    assert [entry[4] for entry in cuda.launches] == [handle for _, handle in streams]
    for wrong in ("7", object(), True, 1.5):
        with pytest.raises(LaunchError, match="stream"):
            launch(kernel, (1,), x, stream=wrong)
    with pytest.raises(LaunchError, match="elsewhere"):
        launch(kernel, (1,), array(1), stream=ours)


def test_with_stream(launch: Any, cuda: FakeCuda) -> None:
    kernel, x, stream = FakeKernel(OUT), array(), tileopt.Stream()
    with stream:
        launch(kernel, (1,), x)
        other = threading.Thread(target=lambda: launch(kernel, (1,), x))
        other.start()
        other.join()
        launch(kernel, (1,), array(1))
    launch(kernel, (1,), x)
    assert [entry[4] for entry in cuda.launches] == [stream.handle, 0, 0, 0]


class TorchDevice:
    type, index = "cuda", 1


class Tensor:
    """A torch tensor on the second GPU."""

    def __init__(self) -> None:
        self.memory = tileopt.zeros((64,), "f32", 1)
        self.shape, self.dtype, self.device = (64,), "torch.float32", TorchDevice

    def stride(self) -> tuple[int, ...]:
        return (1,)

    def data_ptr(self) -> int:
        return int(self.memory.data_ptr())  # type: ignore[union-attr]

    def is_neg(self) -> bool:
        return False


def test_torchs_current_stream(launch: Any, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("torch")
    module.Tensor = Tensor  # type: ignore[attr-defined]
    asked: list[int] = []
    module._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda d: asked.append(d) or 0x77)  # type: ignore[attr-defined,func-returns-value]
    monkeypatch.setitem(sys.modules, "torch", module)
    kernel, x = FakeKernel(OUT), Tensor()
    launch(kernel, (1,), x)
    launch(kernel, (1,), x)
    launch(kernel, (1,), x, stream=0x11)
    assert [entry[4] for entry in cuda.launches] == [0x77, 0x77, 0x11]
    assert asked == [1, 1, 1]  # once more to see that the tensor is used on another stream than PyTorch's


def test_tensors_are_kept_while_another_stream_uses_them(
    launch: Any, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("torch")
    module.Tensor = Tensor  # type: ignore[attr-defined]
    module._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 0x77)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)
    cuda.fail["cuEventQuery"] = CUresult.CUDA_ERROR_NOT_READY
    kernel, tensors = FakeKernel(OUT), [Tensor() for _ in range(3)]
    alive = [weakref.ref(t) for t in tensors]
    launch(kernel, (1,), tensors[0])  # on PyTorch's own stream: its allocator knows
    launch(kernel, (1,), tensors[1], stream=0x11)
    launch(kernel, (1,), tensors[2], stream=0x77)
    tensors.clear()
    gc.collect()
    assert [a() is not None for a in alive] == [False, True, False] and lifetimes.held(1, 0x11) == 1
    del cuda.fail["cuEventQuery"]
    lifetimes.release(1, 0x11)
    gc.collect()
    assert alive[1]() is None and lifetimes.held(1, 0x11) == 0


def test_a_producers_stream_is_waited_for(launch: Any, cuda: FakeCuda) -> None:
    class Produced:
        def __init__(self) -> None:
            self.memory = tileopt.zeros((64,), "f32", 0)
            self.__cuda_array_interface__ = {**self.memory.__cuda_array_interface__, "stream": 0x99}

    x = Produced()
    launch(FakeKernel(OUT), (1,), x, stream=0x11)
    assert cuda.calls.index("record on 0x99") < cuda.calls.index("wait on 0x11") < cuda.calls.index("cuLaunchKernel")


def test_a_graph(launch: Any, cuda: FakeCuda) -> None:
    kernel, stream, graph = FakeKernel(OUT), tileopt.Stream(), tileopt.Graph()
    launch(kernel, (1,), array())
    with graph.capture(stream):
        launch(kernel, (1,), array())  # kept alive by the graph
    assert cuda.launches[-1][4] == stream.handle
    assert cuda.launches[-1][5][0] in cuda.memory
    graph.replay()
    graph.replay(stream=0x66)
    assert [c for c in cuda.calls if c.startswith("replay")] == [f"replay on {stream.handle:#x}", "replay on 0x66"]


def test_memory_is_not_freed_during_a_capture(launch: Any, cuda: FakeCuda) -> None:
    x = array()
    with tileopt.Graph().capture(tileopt.Stream()):
        del x
        gc.collect()
        assert "cuMemFree" not in cuda.calls
    assert cuda.calls.index("cuStreamEndCapture") < cuda.calls.index("cuMemFree")


def test_a_failed_capture_is_ended(launch: Any, cuda: FakeCuda) -> None:
    stream = tileopt.Stream()
    with pytest.raises(RuntimeError), tileopt.Graph().capture(stream):
        raise RuntimeError
    assert "cuStreamEndCapture" in cuda.calls
    assert "cuGraphInstantiate" not in cuda.calls
    assert stream.graph is None


def test_events(cuda: FakeCuda) -> None:
    stream, start = tileopt.Stream(1), tileopt.Event(1)
    with pytest.raises(LaunchError):
        start.elapsed(start)
    start.record(stream)
    end = stream.record()
    assert start.elapsed(end) == 1.5
    assert end.done()
    stream.wait(end)
    tileopt.synchronize()


def test_no_driver() -> None:
    driver.bindings.cache_clear()
    try:
        driver.bindings()
    except DeviceError as error:
        assert error.code == "device/no-driver"
        assert "tileopt[cuda]" in str(error)
    else:
        pytest.skip("this machine has a driver")


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What native code said of the arguments it was asked about."""
    found: list[int] = []
    match = fast_match.match()
    assert match is not None
    monkeypatch.setattr(fast_match, "match", lambda: lambda *args: found.append(match(*args)) or found[-1])
    return found


def test_the_short_cut_on_a_gpu(launch: Any, cuda: FakeCuda, said: list[int]) -> None:
    """Without libcuda the arguments are matched natively and launched by the bindings."""
    kernel, stream = FakeKernel((*OUT, parameter("n", "scalar", "i32"))), tileopt.Stream()
    cuda.words = 4
    arrays = [array() for _ in range(3)]
    for n in range(40):
        launch(kernel, (5,), arrays[n % 3], n, stream=stream if n % 2 else None)
    assert said.count(1) >= 5  # those of one class of integers after the other
    words = [entry[5] for entry in cuda.launches]
    assert words == [[arrays[n % 3].data_ptr(), 64, 1, n] for n in range(40)]
    assert [entry[4] for entry in cuda.launches] == [stream.handle if n % 2 else 0 for n in range(40)]
    launch(kernel, (5,), array(count=65), 7)
    assert cuda.launches[-1][5][1] == 65
    with pytest.raises(LaunchError):
        launch(kernel, (5,), arrays[0], 1 << 40)


def test_the_driver_is_called_natively(launch: Any, cuda: FakeCuda, libcuda: list[int]) -> None:
    kernel, stream = FakeKernel((*OUT, parameter("n", "scalar", "i32"))), tileopt.Stream()
    cuda.words = 4
    arrays = [array() for _ in range(3)]
    for n in range(1, 80, 2):
        launch(kernel, (n % 4 + 1, 2, 3), arrays[n % 3], n, stream=stream if n % 5 else None)
    assert libcuda and set(libcuda) <= {2, 4}
    assert [entry[5] for entry in cuda.launches] == [[arrays[n % 3].data_ptr(), 64, 1, n] for n in range(1, 80, 2)]
    assert [entry[1:5] for entry in cuda.launches] == [
        ((n % 4 + 1, 2, 3), (32, 1, 1), 0, stream.handle if n % 5 else 0) for n in range(1, 80, 2)
    ]
    cuda.current = 0  # another thread's view: no context
    count = len(cuda.launches)
    launch(kernel, (2, 2, 3), arrays[0], 1)
    assert len(cuda.launches) == count + 1  # once more, in the kernel's context
    cuda.fail["cuLaunchKernel"] = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DeviceError, match="illegal-address"):
        launch(kernel, (2, 2, 3), arrays[0], 1)


def test_the_short_cut_follows_streams(launch: Any, cuda: FakeCuda, said: list[int]) -> None:
    tileopt.check_order(True)
    kernel, one, two = FakeKernel(OUT), tileopt.Stream(), tileopt.Stream()
    x = array()
    for _ in range(20):
        launch(kernel, (1,), x, stream=one)
    assert said == [1] * len(said) and len(said) >= 20
    with pytest.raises(OwnershipError):
        launch(kernel, (1,), x, stream=two)
    event = one.record()
    launch(kernel, (1,), x, stream=one)  # after the event
    two.wait(event)
    with pytest.raises(OwnershipError):
        launch(kernel, (1,), x, stream=two)
    two.wait(one.record())
    for _ in range(20):
        launch(kernel, (1,), x, stream=two)
    assert len(cuda.launches) == 41


def test_streams_are_not_followed_beside_what_is_not_seen(
    launch: Any, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    tileopt.check_order(True)
    kernel, one, two = FakeKernel(OUT), tileopt.Stream(), tileopt.Stream()
    for name in ("cupy", "torch"):
        x = array()
        with monkeypatch.context() as there:
            there.setitem(sys.modules, name, ModuleType(name))
            launch(kernel, (1,), x, stream=one)
            launch(kernel, (1,), x, stream=two)
        launch(kernel, (1,), x, stream=one)
        with pytest.raises(OwnershipError):
            launch(kernel, (1,), x, stream=two)
