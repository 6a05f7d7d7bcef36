"""Rows that begin at no multiple of 16 bytes: tiles of whole rows are shifted to where vectors may begin."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Device

import tileopt
from tileopt import tile

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from rms_norm import rms_norm
from softmax import softmax

Array = np.ndarray[Any, Any]
TARGETS = [None, "model:sm_80", "model:sm_90a"]
BF16 = np.dtype(ml_dtypes.bfloat16)
GUARD = 64  # elements on each side of an output


def guarded(rows: int, columns: int, dtype: Any, start: int = 0) -> tuple[Array, Array]:
    """Memory full of 7s, and rows in it whose first is `start` elements beyond an aligned address."""
    size = np.dtype(dtype).itemsize
    memory = np.full(rows * columns + 3 * GUARD, 7, dtype)
    first = GUARD + (-(memory.ctypes.data // size + GUARD)) % (16 // size) + start
    return memory, memory[first : first + rows * columns].reshape(rows, columns)


def untouched(memory: Array, part: Array) -> None:
    """Whether all around the part is as it was."""
    begin = (part.ctypes.data - memory.ctypes.data) // memory.itemsize
    assert (memory[:begin] == 7).all() and (memory[begin + part.size :] == 7).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [1, 3, 509, 510, 511, 512, 900, 1021, 1022, 1023, 1024])
def test_softmax_and_norm(rng: np.random.Generator, target: str | None, columns: int) -> None:
    """Rows of every phase; from 1021 columns on the tile has no room to be shifted by 3."""
    x = rng.standard_normal((5, columns)).astype(np.float32)
    weight, wide = rng.standard_normal(columns).astype(np.float32), x.astype(np.float64)
    memory, out = guarded(5, columns, np.float32)
    softmax[5](x, out, target=target)
    exponentials = np.exp(wide - wide.max(1, keepdims=True))
    np.testing.assert_allclose(out, exponentials / exponentials.sum(1, keepdims=True), rtol=1e-5)
    untouched(memory, out)
    memory, out = guarded(5, columns, np.float32)
    rms_norm[5](x, weight, out, 1e-6, target=target)
    wanted = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-6)
    untouched(memory, out)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("start", range(8))
def test_narrow_elements_from_any_address(rng: np.random.Generator, target: str | None, start: int) -> None:
    """Input and output begin elsewhere: one of them may be aligned while the other is not."""
    columns = 257 + start
    memory, x = guarded(4, columns, BF16, start)
    x[:] = rng.standard_normal(x.shape).astype(BF16)
    for other in (start, 0, 5):
        memory, out = guarded(4, columns, BF16, other)
        softmax[4](x, out, COLUMNS=512, target=target)
        exponentials = np.exp(x.astype(np.float64))
        wanted = exponentials / exponentials.sum(1, keepdims=True)
        np.testing.assert_allclose(out.astype(np.float64), wanted, rtol=1e-2)
        untouched(memory, out)


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
@pytest.mark.parametrize("columns", [253, 254, 255, 1021, 1023, 12345])
@pytest.mark.parametrize("start", [0, 1, 6])
def test_on_the_device(device: Device, rng: np.random.Generator, name: str, columns: int, start: int) -> None:
    """Rows of which each begins in another phase, and does so within a wider array; on a GPU where there is one."""
    dtype, width = BF16 if name == "bfloat16" else np.dtype(name), -(-columns // 512) * 512
    x = rng.standard_normal((6, start + columns)).astype(dtype)
    weight, wide = rng.standard_normal(columns).astype(dtype), x[:, start:].astype(np.float64)
    rows, out = device.put(x)[:, start:], device.empty((6, columns), dtype)
    limit = 1e-2 if dtype == BF16 else 1e-5
    softmax[6](rows, out, width)
    exponentials = np.exp(wide - wide.max(1, keepdims=True))
    wanted = exponentials / exponentials.sum(1, keepdims=True)
    np.testing.assert_allclose(device.get(out).astype(np.float64), wanted, rtol=limit)
    out = device.empty((6, columns), dtype)
    rms_norm[6](rows, device.put(weight), out, 1e-6, width)
    wanted = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * weight.astype(np.float64)
    np.testing.assert_allclose(device.get(out).astype(np.float64), wanted, rtol=limit, atol=limit * 1e-1)


@tile.kernel
def widened(x: tile.In, y: tile.In, out: tile.Out, N: tile.Const[int]):
    """Rows of three extents: what is missing of one is its padding beside the others' elements."""
    i = tile.bid(0)
    a = tile.load(x, (i, 0), (1, N), padding=3.0).astype(tile.f32)
    b = tile.load(y, (i, 0), (1, N), padding=5.0)
    tile.store(out, (i, 0), a * b + tile.sum(a + b))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("first", "second", "third"), [(601, 599, 607), (301, 700, 650), (639, 640, 641), (637, 3, 637)]
)
def test_arrays_of_other_widths(
    rng: np.random.Generator, target: str | None, first: int, second: int, third: int
) -> None:
    x, y = rng.standard_normal((3, first)).astype(BF16), rng.standard_normal((3, second)).astype(np.float32)
    memory, out = guarded(3, third, np.float32)
    widened[3](x, y, out, 640, target=target)
    a, b = np.full((3, 640), 3.0), np.full((3, 640), 5.0)
    a[:, :first], b[:, :second] = x[:, :640].astype(np.float64), y[:, :640]
    total = a * b + (a + b).sum(1, keepdims=True)
    written = min(third, 640)
    np.testing.assert_allclose(out[:, :written], total[:, :written], rtol=1e-4, atol=1e-3)
    assert (out[:, written:] == 7).all()
    untouched(memory, out)


@tile.kernel
def first_of_greatest(x: tile.In, out: tile.Out, N: tile.Const[int]):
    """The first place of each row's greatest element: positions matter."""
    i = tile.bid(0)
    v = tile.load(x, (i, 0), (1, N), padding="-inf")
    places = tile.where(v == tile.max(v, axis=1, keepdims=True), tile.arange(N)[None, :], N)
    tile.store(out, (i,), tile.min(places, axis=1))


@tile.kernel
def rows_in_turn(x: tile.In, out: tile.Out, rows: int, N: tile.Const[int]):
    """Each row of a block's is added to those before: a tile that is carried has no shift of its own."""
    total = tile.zeros((1, N), tile.f32)
    for row in range(rows):
        total += tile.load(x, (row, 0), (1, N))
        tile.store(tile.unchecked(out), (row, 0), total)


@tile.kernel
def rows_in_a_loop(x: tile.In, out: tile.Out, rows: int, N: tile.Const[int]):
    """Each row alone, many in one block; and within a row a loop that carries it."""
    for row in range(rows):
        v = tile.load(x, (row, 0), (1, N))
        for _ in range(2):
            v = v + tile.max(v)
        tile.store(tile.unchecked(out), (row, 0), v)


@tile.kernel
def columns_beside(x: tile.In, out: tile.Out, N: tile.Const[int]):
    """The upper half of a transposed tile, beside sums along the other axis."""
    v = tile.load(x, (0, 0), (8, N))
    tile.store(out, (0, 0), (v.T - tile.sum(v, axis=0)[:, None]).T)


@tile.kernel
def without_the_first(x: tile.In, out: tile.Out, N: tile.Const[int]):
    """All but 8 columns, which the sum counts as well: one tile begins at 0, another does not."""
    i = tile.bid(0)
    v = tile.load_at(x, (i, 8), (1, N))
    tile.store(out, (i, 0), v + tile.sum(tile.load(x, (i, 0), (1, N))))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [510, 511, 512, 381])
def test_what_positions_and_loops_allow(rng: np.random.Generator, target: str | None, columns: int) -> None:
    x = rng.integers(0, 40, (7, columns)).astype(np.float32)
    places = np.full(7, -1, np.int64)
    first_of_greatest[7](x, places, 512, target=target)
    np.testing.assert_array_equal(places, x.argmax(1))
    for kernel, wanted in ((rows_in_turn, x.cumsum(0)), (rows_in_a_loop, x + 3 * x.max(1, keepdims=True))):
        memory, out = guarded(7, columns, np.float32)
        kernel[1](x, out, 7, 512, target=target)
        np.testing.assert_array_equal(out, wanted)
        untouched(memory, out)
    memory, out = guarded(7, columns, np.float32)
    columns_beside[1](x, out, 512, target=target)
    np.testing.assert_array_equal(out, x - x.sum(0))
    untouched(memory, out)
    memory, out = guarded(7, columns - 8, np.float32)
    without_the_first[7](x, out, 512, target=target)
    np.testing.assert_array_equal(out, x[:, 8:] + x.sum(1, keepdims=True))
    untouched(memory, out)


def test_what_is_shifted() -> None:
    """Rows of unknown stride go by vectors of 16 bytes where that may be; positions and carried rows are left alone."""
    given: dict[str, Any] = {"x": "f32[?,?]", "out": "f32[?,?]", "COLUMNS": 1024}
    code = softmax.compile("sm_90a", **given)
    assert len(re.findall(r"ld\.global\.nc\.v4", code.ptx)) == 2 == len(re.findall(r"st\.global\.v4", code.ptx))
    assert code.ir("simt").count("phased") == 2
    aligned = softmax.compile("sm_90a", x="f32[?:16,?:16]", out="f32[?:16,?:16]", COLUMNS=1024)
    assert "phase" not in aligned.ir("simt")
    rows: dict[str, Any] = {"x": "f32[?,?]", "out": "f32[?,?]", "rows": "i64", "N": 512}
    assert "phased" not in rows_in_turn.compile("sm_90a", **rows).ir("simt")
    assert "phased" in rows_in_a_loop.compile("sm_90a", **rows).ir("simt")
    assert "phase" not in first_of_greatest.compile("sm_90a", x="f32[?,?]", out="i64[?]", N=512).ir("simt")
    arrays: dict[str, Any] = {"x": "f32[?,?]", "out": "f32[?,?]", "N": 512}
    assert "phase" not in columns_beside.compile("sm_90a", **arrays).ir("simt")  # each row has a phase of its own
    assert "phase" not in softmax.compile("cpu", **given).ir("simt")


def test_occupancy() -> None:
    """Two tiles of 28 registers leave room for two blocks of 512 threads; a hint asks for more or fewer."""
    given: dict[str, Any] = {"x": "f32[?,?]", "out": "f32[?,?]", "weight": "f32[?]", "COLUMNS": 12800}
    for hints, blocks in (({}, 2), ({"occupancy": 1}, None), ({"occupancy": 3}, 3)):
        ptx = rms_norm.with_hints(**hints).compile("sm_90a", **given).ptx
        found = re.search(r"\.minnctapersm (\d+)", ptx)
        assert (None if found is None else int(found[1])) == blocks
    for wrong in (0, 33, 1.5, True):
        with pytest.raises(tileopt.CompileError, match="occupancy is an integer from 1 to 32, or None"):
            rms_norm.with_hints(occupancy=wrong)
