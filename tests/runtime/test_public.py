"""The public names, and that importing them costs next to nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from runtime.fakes import FakeKernel, parameter

import tileopt
from tileopt.backends.runtime.engine import Engine
from tileopt.dialects.diagnostics import LaunchError, TargetError


def test_import_loads_nothing_heavy() -> None:
    code = (
        "import sys, tileopt; heavy = {'xdsl', 'numpy', 'llvmlite', 'cuda', 'torch', 'ml_dtypes', 'asyncio'};"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


def test_every_name_is_there() -> None:
    for name in tileopt.__all__:
        if name not in ("tile",):
            assert getattr(tileopt, name) is not None
    assert set(tileopt.__all__) <= set(dir(tileopt))
    with pytest.raises(AttributeError, match="nothing"):
        _ = tileopt.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize(("a", "b", "expected"), [(10, 5, 2), (11, 5, 3), (0, 5, 0), (-36, 5, -7)])
def test_cdiv(a: int, b: int, expected: int) -> None:
    assert tileopt.cdiv(a, b) == expected


def test_errors_are_both(launch: Any) -> None:
    x = np.zeros(4)
    with pytest.raises(tileopt.OwnershipError):
        launch(FakeKernel((parameter("x"), parameter("out", "out"))), (1,), x, x)
    with pytest.raises(tileopt.LaunchError):
        launch(FakeKernel((parameter("x"), parameter("out", "out"))), (1,), x, x)


def test_compile_without_a_launch(fake_compiler: None) -> None:
    kernel = FakeKernel((parameter("x"), parameter("n", "scalar"), parameter("K", "const", default=3)))
    compiled = Engine().compile(kernel, "cpu", {"x": "f32[?]", "n": "i32"})
    assert (compiled.name, compiled.target) == ("kernel", "cpu")
    assert compiled.ir("tile") == "tile ir"
    assert compiled.ir("simt") == "simt ir"
    assert "define void @" in compiled.llvm
    assert compiled.object_code.startswith(b"\x7fELF") or compiled.object_code
    assert compiled.report["bounds"] == ["line 1: proved"]
    for ask in (lambda: compiled.ptx, lambda: compiled.cubin, lambda: compiled.ir("nothing")):
        with pytest.raises(TargetError):
            ask()
    with pytest.raises(TargetError):
        Engine().compile(kernel, "sm_1", {"x": "f32[?]", "n": "i32"})
    with pytest.raises(LaunchError):
        Engine().compile(kernel, 90, {"x": "f32[?]", "n": "i32"})


def test_the_default_target_is_what_compile_uses(fake_compiler: None) -> None:
    kernel = FakeKernel((parameter("x"),))
    tileopt.set_default_target("sm_80")
    try:
        assert Engine().compile(kernel, None, {"x": "f32[?]"}).target == "sm_80"
    finally:
        tileopt.set_default_target(None)
    assert Engine().compile(kernel, None, {"x": "f32[?]"}).target == "cpu"
    with pytest.raises(TargetError):
        tileopt.set_default_target("sm_1")
