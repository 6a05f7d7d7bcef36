"""Rows that are read part by part and more than once: what is kept in shared memory, what is loaded ahead."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_device import Device

from tileopt import tile

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from rms_norm import rms_norm_long
from softmax import softmax_long

Array = np.ndarray[Any, Any]
TARGETS = [None, "model:sm_75", "model:sm_80", "model:sm_90a"]
PART = 128  # columns of a part; with one warp a block keeps a few of them


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [1, 127, 128, 1000, 40_001])
def test_long_rows(rng: np.random.Generator, target: str | None, columns: int) -> None:
    x = rng.standard_normal((3, columns)).astype(np.float32) * 4
    weight, wide = rng.standard_normal(columns).astype(np.float32), x.astype(np.float64)
    part = 4096 if columns > 1000 else PART
    out = np.full_like(x, np.nan)
    softmax_long[3](x, out, COLUMNS=part, target=target)
    exponentials = np.exp(wide - wide.max(1, keepdims=True))
    np.testing.assert_allclose(out, exponentials / exponentials.sum(1, keepdims=True), rtol=2e-5)
    out[:] = np.nan
    rms_norm_long[3](x, weight, out, 1e-6, COLUMNS=part, target=target)
    np.testing.assert_allclose(
        out, wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * weight, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("columns", [1000, 65_536, 70_001])
def test_on_the_device(device: Device, rng: np.random.Generator, columns: int) -> None:
    """The kernels as the benchmarks run them, on a GPU where there is one; more blocks than run at once, and more parts
    than are kept."""
    count = 300 if columns == 1000 else 5
    x, weight = rng.standard_normal((count, columns)).astype(np.float32), rng.random(columns, np.float32)
    rows, out, wide = device.put(x), device.empty(x.shape, np.float32), x.astype(np.float64)
    softmax_long[count](rows, out)
    exponentials = np.exp(wide)
    np.testing.assert_allclose(device.get(out), exponentials / exponentials.sum(1, keepdims=True), rtol=2e-5)
    out = device.empty(x.shape, np.float32)
    rms_norm_long[count](rows, device.put(weight), out, 1e-6)
    wanted = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(device.get(out), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_infinities_and_nans(rng: np.random.Generator, target: str | None) -> None:
    x = rng.standard_normal((4, 300)).astype(np.float32)
    x[0, 7], x[1, 290], x[2, :] = -np.inf, np.nan, -np.inf
    out = np.full_like(x, 7)
    softmax_long[4](x, out, COLUMNS=PART, target=target)
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(wide - wide.max(1, keepdims=True))
        np.testing.assert_allclose(out, exponentials / exponentials.sum(1, keepdims=True), rtol=2e-5)


@tile.kernel(num_warps=1, num_stages=3)
def three_times(x: tile.In, out: tile.Out, rows: int, C: tile.Const[int]):
    """The greatest element, then the sum of distances from it, then both beside each element; rows in turn."""
    parts = tile.cdiv(x.shape[1], C)
    for row in range(tile.bid(0), rows, tile.num_blocks(0)):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        most = tile.full((1, 1), -1e30, tile.f32)
        for part in range(parts):
            most = tile.maximum(
                most, tile.max(tile.load(x, (row, part), (1, C), padding="-inf"), axis=1, keepdims=True)
            )
        total = tile.zeros((1, C), tile.f32)
        for part in range(parts):
            v = tile.load(x, (row, part), (1, C), padding="-inf")
            total += tile.where(v > -1e30, most - v, 0.0)
        distance = tile.sum(total, axis=1, keepdims=True)
        for back in range(parts):
            part = parts - 1 - back
            v = tile.load(x, (row, part), (1, C), padding="-inf")
            tile.store(tile.unchecked(out), (row, part), v * most + distance)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [5, 128, 1111, 9000])
def test_three_passes_in_a_loop_over_rows(rng: np.random.Generator, target: str | None, columns: int) -> None:
    x = rng.standard_normal((5, columns)).astype(np.float32)
    out = np.full_like(x, np.nan)
    three_times[2](x, out, 5, PART, target=target)
    wide = x.astype(np.float64)
    most = wide.max(1, keepdims=True)
    np.testing.assert_allclose(out, wide * most + (most - wide).sum(1, keepdims=True), rtol=1e-4)


@tile.kernel(num_warps=1)
def next_part(x: tile.In, out: tile.Out, C: tile.Const[int]):
    """Each part beside the one after it, also the one after the last."""
    parts = tile.cdiv(x.shape[1], C)
    total = tile.zeros((1, C), tile.f32)
    for part in range(parts):
        total += tile.load(x, (0, part), (1, C), padding=5.0)
    for part in range(parts):
        tile.store(out, (0, part), tile.load(x, (0, part + 1), (1, C), padding=5.0) + total)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [100, 2000])
def test_parts_that_no_iteration_loaded(rng: np.random.Generator, target: str | None, columns: int) -> None:
    x = rng.standard_normal((1, columns)).astype(np.float32)
    out = np.full_like(x, np.nan)
    next_part[1](x, out, PART, target=target)
    wide = np.full((1, columns + 2 * PART), 5.0)
    wide[:, :columns] = x
    total = wide[:, : -(-columns // PART) * PART].reshape(-1, PART).sum(0)
    places = np.arange(columns)
    np.testing.assert_allclose(out[0], wide[0, places + PART] + total[places % PART], rtol=1e-4, atol=1e-4)


@tile.kernel(num_warps=1)
def written_between(x: tile.InOut, C: tile.Const[int]):
    total = tile.zeros((1, C), tile.f32)
    for part in range(tile.cdiv(x.shape[1], C)):
        v = tile.load(x, (tile.bid(0), part), (1, C))
        total += v
        tile.store(x, (tile.bid(0), part), v * 2.0)
    for part in range(tile.cdiv(x.shape[1], C)):
        v = tile.load(x, (tile.bid(0), part), (1, C))
        tile.store(x, (tile.bid(0), part), v + total)


@tile.kernel(num_warps=1)
def other_padding(x: tile.In, out: tile.Out, C: tile.Const[int]):
    total = tile.zeros((1, C), tile.f32)
    for part in range(tile.cdiv(x.shape[1], C)):
        total += tile.load(x, (tile.bid(0), part), (1, C), padding=1.0)
    for part in range(tile.cdiv(x.shape[1], C)):
        v = tile.load(x, (tile.bid(0), part), (1, C), padding=2.0)
        tile.store(out, (tile.bid(0), part), v + total + tile.sum(v))


@pytest.mark.parametrize("target", TARGETS)
def test_what_differs_is_loaded_again(rng: np.random.Generator, target: str | None) -> None:
    x = rng.standard_normal((2, 300)).astype(np.float32)
    wide = np.ones((2, 384))
    wide[:, :300] = x
    total = wide.reshape(2, 3, PART).sum(1)
    out = np.full_like(x, np.nan)
    other_padding[2](x, out, PART, target=target)
    wide[:, 300:] = 2
    sums = wide.reshape(2, 3, PART).sum(2)
    wanted = wide.reshape(2, 3, PART) + total[:, None, :] + sums[:, :, None]
    np.testing.assert_allclose(out, wanted.reshape(2, -1)[:, :300], rtol=1e-4, atol=1e-4)
    total = np.pad(x.astype(np.float64), ((0, 0), (0, 84))).reshape(2, 3, PART).sum(1)
    wanted = 2 * x + np.tile(total, 3)[:, :300]
    written_between[2](x, PART, target=target)
    np.testing.assert_allclose(x, wanted, rtol=1e-4, atol=1e-4)


def test_what_is_kept() -> None:
    """A row of 65536 floats is in shared memory but for one part of eight; nobody waits between parts."""
    given: dict[str, Any] = {"x": "f32[?:16,?:16]", "out": "f32[?:16,?:16]", "COLUMNS": 8192}
    text = softmax_long.compile("sm_90a", **given).ir("simt")
    assert re.search(r"alloc_shared \{slots = 7 : i64.*1x8192xf32", text)
    second = text[text.rindex("scf.for") :]
    assert "simt.shared_load" in second and "simt.barrier" not in second
    assert not softmax_long.compile("sm_90a", **given).report["notes"]
    for kernel in (written_between, other_padding):
        arrays: dict[str, Any] = {p.name: "f32[?,?]" for p in kernel.parameters if p.kind.is_array}
        assert "slots" not in kernel.compile("sm_90a", C=PART, **arrays).ir("simt")
