"""Rows and columns cost nothing: where a launch's extents make tests needless, the code is that of plain indexing.

Each pair of kernels says the same by views and, under a contract, by plain indices. A launch, and `compile` with
extents of the same name, drops what holds from the code; other launches keep the tests.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_device import Device
from planned_kernels import fresh, planned

from tileopt import BoundsError, simt
from tileopt.backends.runtime import defaults, specialise
from tileopt.backends.runtime.arrays import ArrayInfo
from tileopt.backends.runtime.compiled_kernel import CompiledKernel
from tileopt.backends.runtime.signature import array_spec

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "simt"))

from sgemm import sgemm, sgemm_checked, sgemm_unchecked, sgemm_views


@simt.kernel(block=128)
def dots_views(a: simt.Slice["f32", 2], b: simt.Slice["f32", 2], out: simt.DisjointSlice["f32"]):
    i = simt.thread_index()
    if i < len(out):
        total = 0.0
        for x, y in zip(a.row(i), b.row(i)):  # noqa: B905
            total += x * y
        out[i] = total


@simt.kernel(block=128, requires=["len(a) == len(out)", "len(b) == len(out)", "b.shape[1] == a.shape[1]"])
def dots(a: simt.Slice["f32", 2], b: simt.Slice["f32", 2], out: simt.DisjointSlice["f32"]):
    i = simt.thread_index()
    if i < len(out):
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[i, k]
        out[i] = total


@simt.kernel(block=128)
def sums_views(a: simt.Slice["f32", 2], out: simt.DisjointSlice["f32"]):
    j = simt.thread_index()
    if j < len(out):
        total = 0.0
        for x in a.col(j):
            total += x
        out[j] = total


@simt.kernel(block=128, requires=["a.shape[1] == len(out)"])
def sums(a: simt.Slice["f32", 2], out: simt.DisjointSlice["f32"]):
    j = simt.thread_index()
    if j < len(out):
        total = 0.0
        for i in range(len(a)):
            total += a[i, j]
        out[j] = total


@simt.kernel(block=128)
def stencil_views(a: simt.Slice["f32", 2], out: simt.DisjointSlice["f32", 2]):
    i = simt.thread_index()
    if i < len(out):
        above, here, below, made = a.row(i), a.row(i + 1), a.row(i + 2), out.row(i)
        for j in range(len(made)):
            made[j] = above[j] + here[j] + below[j]


@simt.kernel(block=128, requires=["len(a) >= len(out) + 2", "a.shape[1] >= out.shape[1]"])
def stencil(a: simt.Slice["f32", 2], out: simt.DisjointSlice["f32", 2]):
    i = simt.thread_index()
    if i < len(out):
        here, below = i + 1, i + 2
        for j in range(out.shape[1]):
            out[i, j] = a[i, j] + a[here, j] + a[below, j]


def instructions(kernel: CompiledKernel) -> str:
    """PTX without the kernel's name."""
    return kernel.ptx.replace(kernel.name, "kernel")


SGEMMS = [(n, n, n) for n in (1024, 2048, 4096, 8192)] + [(100, 70, 33)]


@pytest.mark.parametrize("shape", SGEMMS, ids=str)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_products_of_rows_and_columns(target: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    arrays = {"a": fresh(m, k), "b": fresh(k, n), "c": fresh(m, n)}
    views, plain, bare, twin = (
        planned(kernel, target, **arrays) for kernel in (sgemm_views, sgemm, sgemm_checked, sgemm_unchecked)
    )
    assert instructions(views) == instructions(plain) == instructions(bare) == instructions(twin)
    assert "trap" not in views.ptx and not views.module.checks
    assert views.module.assumed == ("len(b) >= a.shape[1]", "len(a) >= len(c)", "b.shape[1] >= c.shape[1]")


PAIRS = {
    "dots": (dots_views, dots, {"a": fresh(70, 33), "b": fresh(70, 33), "out": fresh(70)}),
    "sums": (sums_views, sums, {"a": fresh(33, 70), "out": fresh(70)}),
    "stencil": (stencil_views, stencil, {"a": fresh(72, 65), "out": fresh(70, 65)}),
}


@pytest.mark.parametrize(("views", "plain", "arrays"), PAIRS.values(), ids=PAIRS)
def test_parts_are_plain_indices(views: Any, plain: Any, arrays: dict[str, ArrayInfo]) -> None:
    found = planned(views, "sm_90a", **arrays)
    assert instructions(found) == instructions(planned(plain, "sm_90a", **arrays))
    assert not found.module.checks and found.module.assumed


def test_extents_of_one_name_are_equal() -> None:
    shapes = {"a": "f32[m, k]", "b": "f32[k, n]", "c": "f32[m, n]"}
    views, plain = (kernel.compile("sm_90a", **shapes) for kernel in (sgemm_views, sgemm))
    assert instructions(views) == instructions(plain)
    assert views.module.conditions == ("len(b) == a.shape[1]", "len(c) == len(a)", "c.shape[1] == b.shape[1]")
    others = sgemm_views.compile("sm_90a", a="f32[m, k]", b="f32[l, n]", c="f32[m, o]")
    assert "trap" in others.ptx


def test_launches_of_other_extents_keep_the_tests() -> None:
    arrays = {"a": fresh(32, 16), "b": fresh(16, 32), "c": fresh(48, 32)}
    found = planned(sgemm_views, "sm_90a", **arrays)
    assert found.module.assumed == ("len(b) >= a.shape[1]", "b.shape[1] >= c.shape[1]")
    assert [(site.array, site.axis) for site in found.module.checks] == [("a", 0)]


@pytest.mark.parametrize("kernel", [sgemm_views, sgemm_checked], ids=["views", "checked"])
def test_every_launch_has_its_own_extents(device: Device, rng: np.random.Generator, kernel: Any) -> None:
    """Arrays of one specialisation, of which some fit and some do not, in turn."""
    kernel = simt.kernel(block=(32, 8))(kernel.function)  # of which nothing was launched yet
    for m, n, k, rows in ((17, 33, 50, 17), (17, 33, 50, 15), (17, 33, 50, 17), (19, 37, 50, 13), (19, 37, 50, 19)):
        a, b = rng.standard_normal((rows, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
        c = device.empty((m, n), np.float32)
        if rows < m:
            if device.name == "cpu":  # on a GPU a failed test ends the context
                with pytest.raises(BoundsError, match="'a'"):
                    kernel[simt.cdiv(n, 32), simt.cdiv(m, 8)](device.put(a), device.put(b), c)
            continue
        kernel[simt.cdiv(n, 32), simt.cdiv(m, 8)](device.put(a), device.put(b), c)
        np.testing.assert_allclose(device.get(c), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("extents", [(50, 50), (50, 31), (31, 50)], ids=str)
def test_a_zip_ends_with_the_shorter(device: Device, rng: np.random.Generator, extents: tuple[int, int]) -> None:
    k, length = extents
    a, b = rng.standard_normal((17, k)).astype(np.float32), rng.standard_normal((length, 33)).astype(np.float32)
    c = device.empty((17, 33), np.float32)
    sgemm_views[2, 3](device.put(a), device.put(b), c)
    least = min(extents)
    expected = a[:, :least].astype(np.float64) @ b[:least].astype(np.float64)
    np.testing.assert_allclose(device.get(c), expected, rtol=1e-5, atol=1e-5)


def test_results_of_parts(device: Device, rng: np.random.Generator) -> None:
    a, b = (rng.standard_normal((131, 37)).astype(np.float32) for _ in range(2))
    wide = a.astype(np.float64)
    expected = {"dots": (wide * b).sum(1), "sums": wide.sum(0), "stencil": wide[:-2] + wide[1:-1] + wide[2:]}
    for name, (views, plain, _) in PAIRS.items():
        for kernel in (views, plain):
            out = device.empty(expected[name].shape, np.float32)
            kernel[2](*(device.put(x) for x in ((a, b) if name == "dots" else (a,))), out)
            np.testing.assert_allclose(device.get(out), expected[name], rtol=1e-4, atol=1e-5)


def test_the_disk_keeps_code_for_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was compiled for fitting extents is not taken for others, and is found again."""
    monkeypatch.setenv("TILEOPT_CACHE_DIR", str(tmp_path))
    target, compiled = defaults.resolve("cpu"), []
    compile_kernel = specialise.compile_kernel

    def counted(*args: Any, **kwargs: Any) -> Any:
        compiled.append(None)
        return compile_kernel(*args, **kwargs)

    monkeypatch.setattr(specialise, "compile_kernel", counted)
    signature = {name: array_spec(fresh(24, 24)) for name in "abc"}
    every = ("len(b) >= a.shape[1]", "len(a) >= len(c)", "b.shape[1] >= c.shape[1]")
    for hold in (every, (), every[:1], every, (), every[:1]):
        built = specialise.build(sgemm_views, signature, target, lambda text, hold=hold: text in hold)  # type: ignore[misc]
        assert built.artifact.guards == every and built.artifact.assumed == hold
        assert len(built.artifact.checks) == (0 if hold == every else 2)
    assert len(compiled) == 3
