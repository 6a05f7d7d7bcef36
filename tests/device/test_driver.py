"""The driver on a real GPU: launches, contexts, streams, events, graphs and arrays, with kernels written in PTX."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from runtime import fakes

import tileopt
from tileopt.backends.compiled import CompiledModule
from tileopt.backends.nvidia import driver, ptxas
from tileopt.backends.runtime import defaults, specialise
from tileopt.backends.runtime.engine import Engine
from tileopt.dialects.contracts import Spec
from tileopt.dialects.diagnostics import DeviceError, LaunchError
from tileopt.dialects.target import Target

# out[i] = x[i] + n for all i below x's extent; one thread an element. Parameters: the kernel ABI for (x, out, n).
ADD = """
.version 7.8
.target {target}
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry kernel(.param .u64 x, .param .u64 xn, .param .u64 xs, .param .u64 o, .param .u64 on, .param .u64 os,
                       .param .f32 n)
{{
  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<9>; .reg .f32 %f<4>;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %d1, %r4;
  ld.param.u64 %d2, [xn];
  setp.ge.u64 %p, %d1, %d2;
  @%p ret;
  ld.param.u64 %d3, [x]; ld.param.u64 %d4, [o]; ld.param.f32 %f1, [n];
  ld.param.u64 %d5, [xs];
  mul.lo.s64 %d6, %d1, %d5; shl.b64 %d6, %d6, 2; add.s64 %d6, %d6, %d3;
  shl.b64 %d7, %d1, 2; add.s64 %d7, %d7, %d4;
  ld.global.f32 %f2, [%d6];
  add.f32 %f3, %f2, %f1;
  st.global.f32 [%d7], %f3;
  ret;
}}
"""
TRAP = ".version 7.8\n.target {target}\n.address_size 64\n.visible .entry kernel() {{ trap; ret; }}\n"
PARAMETERS = (fakes.parameter("x"), fakes.parameter("out", "out"), fakes.parameter("n", "scalar"))


def compile_ptx(
    definition: fakes.FakeKernel, signature: Mapping[str, Spec], target: Target, holds: Any = None
) -> CompiledModule:
    definition.build(signature)
    plain = target.name.removesuffix("a")
    text = definition.text.format(target=plain)
    slots = fakes.slots_of(signature)
    return CompiledModule("kernel", target.name, "cuda", 32, definition.shared_bytes, slots, {}, "", text)


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TILEOPT_CACHE", "0")
    monkeypatch.setattr(specialise, "compile_kernel", compile_ptx)
    engine = Engine()

    def run(kernel: Any, grid: Any, *args: Any, stream: Any = None) -> None:
        engine.launch(kernel, grid, args, {}, stream)

    return run


def kernel(**fields: Any) -> fakes.FakeKernel:
    return fakes.FakeKernel(PARAMETERS, ADD, **fields)


def check(x: Any, out: Any, n: float) -> None:
    assert (tileopt.to_numpy(out) == tileopt.to_numpy(x) + np.float32(n)).all()


def test_the_device_has_a_target() -> None:
    found = driver.device(0)
    assert found.name
    assert defaults.runs_on(defaults.for_device(found.arch), found.arch)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 100_000])
def test_a_launch(launch: Any, count: int) -> None:
    x = tileopt.asarray(np.arange(count, dtype=np.float32), device="cuda")
    out = tileopt.zeros(count, "f32", "cuda")
    launch(kernel(), (tileopt.cdiv(count, 32),), x, out, 1.5)
    check(x, out, 1.5)


def test_strided_and_reversed_views(launch: Any) -> None:
    x = tileopt.asarray(np.arange(100, dtype=np.float32), device="cuda")
    for view in (x[::2], x[::-1], x[90:10:-3]):
        out = tileopt.empty(len(view), "f32", "cuda")
        launch(kernel(), (4,), view, out, 2.0)
        check(view, out, 2.0)


@pytest.mark.parametrize("shared", [0, 1024, 64 * 1024, "most"])
def test_dynamic_shared_memory(launch: Any, shared: Any) -> None:
    count = driver.device(0).shared_bytes if shared == "most" else shared
    x, out = tileopt.zeros(32, "f32", "cuda"), tileopt.empty(32, "f32", "cuda")
    launch(kernel(shared_bytes=count), (1,), x, out, 3.0)
    check(x, out, 3.0)
    with pytest.raises(DeviceError, match="shared memory"):
        launch(kernel(shared_bytes=driver.device(0).shared_bytes + 1), (1,), x, out, 3.0)


def test_another_thread_launches(launch: Any) -> None:
    x, out, errors = tileopt.zeros(32, "f32", "cuda"), tileopt.empty(32, "f32", "cuda"), []
    adds = kernel()
    launch(adds, (1,), x, out, 1.0)

    def work() -> None:
        try:
            launch(adds, (1,), x, out, 4.0)
            tileopt.synchronize()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not errors
    check(x, out, 4.0)


def test_streams_events_and_a_graph(launch: Any) -> None:
    stream, graph, adds = tileopt.Stream("cuda"), tileopt.Graph(), kernel()
    x, out = tileopt.zeros(64, "f32", "cuda"), tileopt.zeros(64, "f32", "cuda")
    start = stream.record()
    launch(adds, (2,), x, out, 5.0, stream=stream)
    end = stream.record()
    end.synchronize()
    assert end.done()
    assert 0 <= start.elapsed(end) < 1000
    check(x, out, 5.0)
    second = tileopt.empty(64, "f32", "cuda")
    with graph.capture(stream):
        launch(adds, (2,), x, out, 6.0)
        launch(adds, (2,), out, second, 1.0)
    check(x, out, 5.0)  # captured, not run
    for _ in range(2):
        graph.replay()
    stream.synchronize()
    check(x, second, 7.0)


def test_two_devices(launch: Any) -> None:
    if driver.device_count() < 2:
        pytest.skip("one GPU")
    adds = kernel()
    for device in (0, 1, 0, 1):
        x, out = tileopt.asarray(np.ones(32, np.float32), device=device), tileopt.empty(32, "f32", device)
        launch(adds, (1,), x, out, 1.0)
        check(x, out, 1.0)
    with pytest.raises(LaunchError, match="mixed-devices"):
        launch(adds, (1,), tileopt.zeros(3, "f32", 0), tileopt.zeros(3, "f32", 1), 1.0)


def test_every_element_type_goes_there_and_back() -> None:
    from tileopt.dialects.dtypes import DTYPES

    for name, dtype in DTYPES.items():
        host = np.arange(12).reshape(3, 4).astype(dtype.numpy)
        assert (tileopt.to_numpy(tileopt.asarray(host, device="cuda")) == host).all(), name
        assert not tileopt.to_numpy(tileopt.zeros((5,), name, "cuda")).any()


def test_out_of_memory_is_a_device_error() -> None:
    with pytest.raises(DeviceError) as error:
        tileopt.empty(1 << 48, "u8", "cuda")
    assert error.value.code == "device/out-of-memory"


def test_torch_arrays_and_streams(launch: Any) -> None:
    torch = pytest.importorskip("torch")
    adds = kernel()
    x = torch.arange(64, dtype=torch.float32, device="cuda")
    out = torch.empty_like(x)
    launch(adds, (2,), x, out, 1.0)
    assert torch.equal(out, x + 1)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        out.zero_()
        launch(adds, (2,), x, out, 2.0)
        assert torch.equal(out, x + 2)
    launch(adds, (2,), x.flip(0)[::2], out[:32], 3.0, stream=side)
    side.synchronize()
    assert torch.equal(out[:32], x.flip(0)[::2] + 3)
    mixed = tileopt.empty(64, "f32", "cuda")
    launch(adds, (2,), x, mixed, 1.0)
    torch.cuda.synchronize()
    check(x, mixed, 1.0)
    with pytest.raises(LaunchError, match="mixed-devices"):
        launch(adds, (2,), x.cpu(), out, 1.0)


def test_a_torch_graph_replays_a_launch(launch: Any) -> None:
    torch = pytest.importorskip("torch")
    adds = kernel()
    x, out = torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda")
    launch(adds, (2,), x, out, 1.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(adds, (2,), x, out, 9.0)
    x.fill_(1.0)
    graph.replay()
    torch.cuda.synchronize()
    assert (out == 10).all()


def test_a_trap_is_a_device_error_with_advice() -> None:
    """In a process of its own: the context is lost."""
    import subprocess
    import sys
    from pathlib import Path

    script = (
        "from device.test_driver import compile_ptx, TRAP\n"
        "from runtime import fakes\n"
        "import tileopt\n"
        "from tileopt.backends.nvidia import driver, ptxas\n"
        "from tileopt.backends.runtime import defaults\n"
        "d = driver.device(0); t = defaults.for_device(d.arch)\n"
        "cubin = ptxas.assemble(TRAP.format(target=t.name.removesuffix('a')), t.name).cubin\n"
        "f = driver.Function(d, cubin, 'kernel', 32, 0)\n"
        "from tileopt.backends.runtime.plan import ArgumentBuffer\n"
        "f.launch(ArgumentBuffer(b''), (1, 1, 1), 0)\n"
        "try: tileopt.synchronize()\n"
        "except tileopt.DeviceError as e: print(e.code, 'new process' in str(e))\n"
    )
    tests = str(Path(__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {tests!r})\n" + script],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout.split() in (["device/illegal-instruction", "True"], ["device/launch-failed", "True"]), run.stderr
    assert ptxas is not None
