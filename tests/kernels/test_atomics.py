"""Atomics of tiles: blocks that meet at one element, every kind and type, ragged ends, small tiles, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Device
from python_kernels import build, kernel

import tileopt
from tileopt import OwnershipError, TileoptError, tile


@tile.kernel
def combine(x: tile.In, out: tile.Atomic, KIND: tile.Const[str], M: tile.Const[int], N: tile.Const[int]):
    i, j = tile.bid(0), tile.bid(1)
    v = tile.load(x, (i, j), (M, N))
    if KIND == "add":
        tile.atomic_add(out, (0, j), v)
    elif KIND == "max":
        tile.atomic_max(out, (0, j), v)
    elif KIND == "min":
        tile.atomic_min(out, (0, j), v)
    elif KIND == "and":
        tile.atomic_and(out, (0, j), v)
    elif KIND == "or":
        tile.atomic_or(out, (0, j), v)
    else:
        tile.atomic_xor(out, (0, j), v)


COMBINE: dict[str, Callable[..., Any]] = {
    "add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip
CASES = [(kind, dtype) for kind in COMBINE for dtype in ("int32", "uint32", "int64", "uint64", "int16", "uint16")]
CASES += [(kind, dtype) for kind in ("add", "max", "min") for dtype in ("float32", "float64", "float16", "bfloat16")]


@pytest.mark.parametrize(("kind", "dtype"), CASES)
@pytest.mark.parametrize("shape", [(4, 16), (1, 1), (3, 33)])
def test_every_kind_and_type(
    device: Device, rng: np.random.Generator, kind: str, dtype: str, shape: tuple[int, int]
) -> None:
    m, n = shape
    element = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    rows, columns = 7 * m, 2 * n + (n + 1) // 2
    x = rng.integers(0, 32, (rows, columns)).astype(element)
    if element.kind == "i":
        x -= 16
    out = rng.integers(0, 32, (m, columns)).astype(element)
    expected = out.astype(np.float64) if element.kind not in "iu" else out.copy()
    wide = x.astype(expected.dtype)
    for block in range(7):
        expected = COMBINE[kind](expected, wide[block * m : (block + 1) * m]).astype(expected.dtype)
    target = device.put(out.copy())
    combine[7, tileopt.cdiv(columns, n)](device.put(x), target, kind, m, n)
    np.testing.assert_array_equal(device.get(target).astype(expected.dtype), expected)  # all sums are exact


@tile.kernel
def histogram(x: tile.In, counts: tile.Atomic, N: tile.Const[int]):
    for i in range(tile.bid(0), N, tile.num_blocks(0)):
        tile.atomic_add(counts, tile.item(tile.load(x, i, 1)), 1)


def test_where_it_goes_may_rest_on_data(device: Device, rng: np.random.Generator) -> None:
    x, counts = rng.integers(-3, 13, 500), np.zeros(10, np.int64)
    target = device.put(counts)
    histogram[8](device.put(x), target, 500)
    inside = x[(x >= 0) & (x < 10)]
    np.testing.assert_array_equal(device.get(target), np.bincount(inside, minlength=10))


@tile.kernel
def row_sums(x: tile.In, out: tile.Atomic, N: tile.Const[int]):
    tile.atomic_add(out, 0, tile.sum(tile.load(x, (0, tile.bid(0)), (8, N)), axis=1))


def test_of_replicas_one_adds(device: Device, rng: np.random.Generator) -> None:
    """A reduction leaves its result in many threads."""
    x, out = rng.integers(0, 9, (8, 300)).astype(np.float32), np.zeros(8, np.float32)
    target = device.put(out)
    row_sums[5](device.put(x), target, 64)
    np.testing.assert_array_equal(device.get(target), x.sum(1))


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120"])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "i32", "u64"])
def test_gpu_code_is_assembled(target: str, dtype: str) -> None:
    made = combine.compile(target, x=f"{dtype}[?, ?]", out=f"{dtype}[?, ?]", KIND="add", M=4, N=16)
    assert any("atomic on out: " in line for line in made.report["bounds"])
    assert made.cubin and ("atom." in made.ptx or "red." in made.ptx)


REFUSED = {
    "a plain store": ("tile.store(out, i, tile.zeros(64))", "ownership/plain-access"),
    "a plain load": ("a = tile.load(out, i, 64)", "ownership/plain-access"),
    "an array that is not atomic": ("tile.atomic_add(x, i, tile.zeros(64))", "ownership/not-atomic"),
    "bits of floats": ("tile.atomic_or(out, i, tile.zeros(64))", "type/atomic"),
    "another type": ("tile.atomic_add(out, i, tile.zeros(64, tile.f16))", "type/store"),
    "another rank": ("tile.atomic_add(out, (i, i), tile.zeros(64))", "type/rank"),
    "elements of a byte": ("tile.atomic_add(b, i, tile.zeros(64, tile.i8))", "type/atomic"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    body, code = REFUSED[name]
    made = kernel(
        f"i = tile.bid(0)\n{body}  #!",
        "x: tile.In['f32', 1], out: tile.Atomic['f32', 1], b: tile.Atomic['i8', 1]",
    )
    with pytest.raises(TileoptError) as caught:
        build(made, b=("i8", 1))
    assert caught.value.code == code and "#!" in str(caught.value)


# What the author answers for


@tile.kernel
def scatter(x: tile.In, places: tile.In, out: tile.Out):
    i = tile.bid(0)
    place = tile.item(tile.load(places, i, 1))
    tile.store(tile.unchecked(out), place, tile.load(x, i, 16))


def test_unchecked_stores_are_compiled_and_reported(device: Device, rng: np.random.Generator) -> None:
    x, places = rng.random(16 * 9).astype(np.float32), rng.permutation(9)
    out = device.empty(16 * 9, np.float32)
    scatter[9](device.put(x), device.put(places), out)
    expected = np.empty_like(x).reshape(9, 16)
    expected[places] = x.reshape(9, 16)
    np.testing.assert_array_equal(device.get(out), expected.reshape(-1))
    report = scatter.compile("cpu", x="f32[?]", places="i64[?]", out="f32[?]").report
    assert [line for line in report["ownership"] if line.endswith(": unchecked")]


def test_unchecked_is_of_one_access_alone() -> None:
    @tile.kernel
    def both(out: tile.InOut):
        i = tile.bid(0)
        tile.store(tile.unchecked(out), i // 2, tile.load(tile.unchecked(out), i + 1, 64))
        tile.store(out, i // 2, tile.zeros(64))  #! checked

    with pytest.raises(OwnershipError) as caught:
        both.compile("cpu", out="f32[?]")
    assert caught.value.code == "ownership/overlapping-stores" and "#! checked" in str(caught.value)
