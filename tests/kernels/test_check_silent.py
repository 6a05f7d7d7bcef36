"""The target "cpu-check" has nothing to say of right kernels, and computes what the target "cpu" does.

`TILEOPT_CHECK=1` runs all of tests/kernels so. Here are the examples, and one kernel or more of each thing that could
be taken for a fault: pipelined loops, masked edges, replicas, shuffles, atomics, parts of shared memory used in turn.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tileopt
from tileopt import simt, tile
from tileopt.backends.cpu.check import analysis, launch

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES / "simt"))


@pytest.fixture
def checking() -> Iterator[None]:
    tileopt.set_default_target("cpu-check")
    yield
    tileopt.set_default_target(None)


@pytest.mark.parametrize("name", ["vector_add", "softmax", "matmul", "attention", "nearest", "frontends/einsum"])
@pytest.mark.usefixtures("checking")
def test_an_example(name: str) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")  # compares its results itself


def floats(*shape: int) -> Any:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def ints(low: int, high: int, *shape: int) -> Any:
    return np.random.default_rng(6).integers(low, high, shape).astype(np.int32)


def example(name: str, kernel: str | None = None) -> Any:
    return getattr(__import__(name), kernel or name)


def sparse() -> tuple[Any, ...]:
    dense = np.where(ints(0, 5, 33, 90) == 0, floats(33, 90), np.float32(0))
    row, column = np.nonzero(dense)
    starts = np.searchsorted(row, np.arange(34)).astype(np.int64)
    return starts, column.astype(np.int32), dense[row, column], floats(90), np.zeros(33, np.float32)


SLOTS = np.full(701, -1, np.int32)
SIMT: dict[str, tuple[Callable[[], Any], Any, Callable[[], tuple[Any, ...]]]] = {
    "scale": (lambda: example("scale"), 3, lambda: (2.5, floats(700), np.zeros(700, np.float32))),
    "reduction": (lambda: example("reduction", "total"), 3, lambda: (ints(-9, 9, 999), np.zeros(1, np.int32))),
    "scan": (lambda: example("scan"), 2, lambda: (ints(-9, 9, 500), np.zeros(500, np.int32))),
    "transpose": (lambda: example("transpose"), (3, 2), lambda: (floats(33, 65), np.zeros((65, 33), np.float32))),
    "histogram": (
        lambda: example("histogram"),
        2,
        lambda: (ints(0, 256, 3000).astype(np.uint8), np.zeros(256, np.uint32)),
    ),
    "stencil": (
        lambda: example("stencil", "diffuse"),
        (3, 2),
        lambda: (floats(20, 37), np.zeros((20, 37), np.float32), 0.2),
    ),
    "tiled_product": (
        lambda: example("tiled_product"),
        (2, 2),
        lambda: (floats(20, 35), floats(35, 30), np.zeros((20, 30), np.float32)),
    ),
    "sgemm": (
        lambda: example("sgemm"),
        (1, 3),
        lambda: (floats(20, 35), floats(35, 30), np.zeros((20, 30), np.float32)),
    ),
    "bitonic_sort": (
        lambda: example("bitonic_sort", "sort_rows"),
        2,
        lambda: (ints(-999, 999, 3, 500), ints(0, 1, 3, 500)),
    ),
    "mandelbrot": (
        lambda: example("mandelbrot"),
        (2, 4),
        lambda: (np.zeros((15, 35), np.int32), -2.0, -1.0, 0.1, 30),
    ),
    "n_body": (lambda: example("n_body"), 2, lambda: (np.abs(floats(150, 4)), np.zeros((150, 3), np.float32), 0.1)),
    "sparse_product": (lambda: example("sparse_product"), 9, sparse),
    "hash_map": (
        lambda: example("hash_map", "insert"),
        3,
        lambda: (ints(0, 99, 300), ints(1, 9, 300), SLOTS.copy(), np.zeros(701, np.int32)),
    ),
    "compact": (
        lambda: example("warp_bits", "compact"),
        8,
        lambda: (ints(-9, 9, 1000), np.zeros(1000, np.int32), np.zeros(1, np.uint32)),
    ),
}
ANY_ORDER = {"compact", "hash_map"}  # what the arrays hold rests on the order of the threads


@pytest.mark.parametrize("name", SIMT)
def test_a_kernel_of_threads(name: str) -> None:
    kernel, grid, arguments = SIMT[name]
    plain, checked = arguments(), arguments()
    kernel()[grid](*plain)
    kernel()[grid](*checked, target="cpu-check")
    for a, b in zip(plain, checked, strict=True):
        if name in ANY_ORDER and isinstance(a, np.ndarray):
            a, b = np.sort(a), np.sort(b)
        np.testing.assert_array_equal(a, b)


# --- what could be taken for a fault -------------------------------------------------------------------------------


@simt.kernel(block=96, shared_bytes=1024)
def in_turn(at: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    """The lanes of each warp by themselves, then all threads, then the same bytes as other types."""
    t, lane = simt.thread_rank(), simt.lane_index()
    s = simt.dynamic_shared((3, 32), "i32")
    total = simt.i32(0)
    for k in range(3):
        s[simt.warp_rank(), lane] = at[lane] + simt.i32(k)
        simt.syncwarp()
        total += s[simt.warp_rank(), simt.i64(at[lane])]
        simt.syncwarp()
    simt.barrier()
    flag = simt.dynamic_shared(1, "i64", offset=512)
    flag[0] = 5  # the same by all
    halves = simt.dynamic_shared(96, "i16")
    halves[95 - t] = simt.i16(t)
    simt.barrier()
    out[simt.thread_index()] = total + simt.i32(halves[t]) + simt.i32(flag[0])


@simt.kernel(block=64)
def counted_in_turn(at: simt.Slice["i32"], out: simt.DisjointSlice["u32"]):
    """An atomic exchange whose result nobody asks for initialises; a double buffer needs one barrier a step."""
    t = simt.thread_rank()
    counts = simt.shared(64, "u32")
    ring = simt.shared((2, 64), "u32")
    simt.atomic_exch(counts, t, 0)
    simt.barrier()
    for k in range(4):
        ring[k % 2, t] = simt.u32(k)
        simt.barrier()
        simt.atomic_add(counts, simt.i64(at[t]), ring[k % 2, simt.i64(at[t])])
    simt.barrier()
    out[simt.thread_index()] = counts[t]


@tile.kernel(num_stages=3)
def pipelined(a: tile.In, b: tile.In, c: tile.InOut, d: tile.Out):
    acc = tile.zeros((16, 32))
    for k in range(tile.cdiv(a.shape[1], 8)):
        acc = tile.mma(tile.load(a, (tile.bid(0), k), (16, 8)), tile.load(b, (k, 0), (8, 32)), acc)
    tile.store(c, (tile.bid(0), 0), acc)
    again = tile.load(c, (tile.bid(0), 0), (16, 32), padding=1)
    tile.store(d, tile.bid(0), tile.sum(again, 1))  # one of several replicas stores


@pytest.fixture(params=["whole", "in parts"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """`in parts`: the log is emptied, and looked at, after a few records."""
    if request.param == "in parts":
        monkeypatch.setattr(launch, "_CAPACITY", 99)
        monkeypatch.setattr(analysis, "BATCH", 300)
        monkeypatch.setattr(analysis, "TOUCHES", 500)


@pytest.mark.usefixtures("parts")
def test_memory_that_is_used_in_turn() -> None:
    at = np.random.default_rng(2).permutation(32).astype(np.int32)
    plain, checked = np.zeros(192, np.int32), np.zeros(192, np.int32)
    in_turn[2](at, plain)
    in_turn[2](at, checked, target="cpu-check")
    np.testing.assert_array_equal(plain, checked)
    assert plain.any()
    at, one, other = ints(0, 64, 64), np.zeros(128, np.uint32), np.zeros(128, np.uint32)
    counted_in_turn[2](at, one)
    counted_in_turn[2](at, other, target="cpu-check")
    np.testing.assert_array_equal(one, other)
    assert one.sum() == 2 * 6 * 64


@pytest.mark.usefixtures("parts")
def test_tiles_with_edges() -> None:
    a, b = floats(37, 30), floats(30, 29)
    results = []
    for target in ("cpu", "cpu-check"):
        c, d = np.zeros((37, 29), np.float32), np.zeros(37, np.float32)
        pipelined[3](a, b, c, d, target=target)
        results.append((c, d))
    for x, y in zip(*results, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_allclose(results[0][0], a.astype(np.float64) @ b.astype(np.float64), rtol=0, atol=1e-5)


@simt.kernel(block=32)
def reads_nothing(out: simt.DisjointSlice["i32"]):
    s = simt.shared(32, "i32")
    out[simt.thread_index()] = s[simt.thread_rank()]


def test_the_environment_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEOPT_CHECK", raising=False)
    reads_nothing[1](np.zeros(32, np.int32))
    monkeypatch.setenv("TILEOPT_CHECK", "0")
    simt.kernel(block=32)(reads_nothing.function)[1](np.zeros(32, np.int32))
    monkeypatch.setenv("TILEOPT_CHECK", "1")
    with pytest.raises(tileopt.CheckError, match="memory/uninitialised"):
        simt.kernel(block=32)(reads_nothing.function)[1](np.zeros(32, np.int32))
