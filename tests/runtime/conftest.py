"""Tests of the runtime compile hand-written kernels, and keep their cache to themselves."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runtime import fake_cuda, fakes

import tileopt
from tileopt.backends.nvidia import driver, ptxas, queues
from tileopt.backends.runtime.engine import Engine


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEOPT_CACHE", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def fake_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes.install(monkeypatch)


class Launcher:
    """`launch(kernel, grid, ...)` as a frontend's kernel does it."""

    def __init__(self) -> None:
        self.engine = Engine()

    def __call__(
        self, kernel: Any, grid: Any, *args: Any, stream: Any = None, target: Any = None, **kwargs: Any
    ) -> None:
        self.engine.launch(kernel, grid, args, kwargs, stream, target)


@pytest.fixture
def launch(fake_compiler: None) -> Launcher:
    return Launcher()


_LAUNCH = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint32] * 7, *[ctypes.c_void_p] * 3)


@pytest.fixture
def libcuda(cuda: fake_cuda.FakeCuda, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A cuLaunchKernel that native code can call; the grids that it was called with, along x."""
    called: list[int] = []

    @_LAUNCH
    def launch(function: int, *args: int) -> int:
        called.append(args[0])
        *extents, stream, params, extra = args
        return int(cuda.cuLaunchKernel(function, *extents, stream or 0, params, extra or 0)[0])

    address = ctypes.cast(launch, ctypes.c_void_p).value
    monkeypatch.setattr(driver, "_launch_address", lambda: address)
    yield called


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_cuda.FakeCuda]:
    """Two GPUs, of compute capability 9.0 and 8.0, that keep what is launched; ptxas is not called."""
    fake = fake_cuda.FakeCuda()
    # First in, last out: what is collected while this ends must not open a fake device among the real ones.
    monkeypatch.setattr(driver, "_DEVICES", {})
    monkeypatch.setattr(driver, "bindings", lambda: fake)
    monkeypatch.setattr(queues, "bindings", lambda: fake)
    monkeypatch.setattr(driver, "available", lambda: True)
    monkeypatch.setattr(driver, "device_count", lambda: len(fake.archs))
    monkeypatch.setattr(ptxas, "version", lambda: "fake")
    monkeypatch.setattr(
        ptxas, "assemble", lambda ptx, arch: ptxas.Assembled(f"cubin for {arch}".encode(), 40, 0, 0, 0, 0, 0, "log")
    )
    tileopt.check_order(False)  # test_order.py has it
    yield fake
    tileopt.check_order(True)
    gc.collect()  # arrays and streams of the fake go back to it
