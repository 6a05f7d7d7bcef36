"""Tests of the runtime compile hand-written kernels, and keep their cache to themselves."""

from __future__ import annotations

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


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_cuda.FakeCuda]:
    """Two GPUs, of compute capability 9.0 and 8.0, that keep what is launched; ptxas is not called."""
    fake = fake_cuda.FakeCuda()
    monkeypatch.setattr(driver, "bindings", lambda: fake)
    monkeypatch.setattr(queues, "bindings", lambda: fake)
    monkeypatch.setattr(driver, "_DEVICES", {})
    monkeypatch.setattr(driver, "available", lambda: True)
    monkeypatch.setattr(driver, "device_count", lambda: len(fake.archs))
    monkeypatch.setattr(ptxas, "version", lambda: "fake")
    monkeypatch.setattr(
        ptxas, "assemble", lambda ptx, arch: ptxas.Assembled(f"cubin for {arch}".encode(), 40, 0, 0, 0, 0, 0, "log")
    )
    tileopt.check_order(False)  # test_order.py has it
    yield fake
    tileopt.check_order(True)
