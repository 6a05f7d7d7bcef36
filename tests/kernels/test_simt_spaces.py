"""The spaces of a DisjointSlice: who owns what of an array, each by the kernel that one would write, at odd sizes.

Every store is proved to have one owner for each element, and every access to lie inside: no kernel tests an index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_device import Array, Device

from tileopt import simt

Out1, Out2 = simt.DisjointSlice["f32", 1], simt.DisjointSlice["f32", 2]
SIZES = (1, 63, 64, 65, 1000, 4097)
SHAPES = ((1, 1), (7, 130), (65, 33), (128, 64))
VALUE = 0.5


def value(i: Any) -> Any:
    return simt.f32(i) * VALUE


@simt.kernel(block=64)
def element(out: Out1):
    i = simt.thread_index()
    if i < len(out):
        out[i] = value(i)


@simt.kernel(block=64)
def run(out: Out1):
    """Four a thread; the last run is clipped."""
    first = 4 * simt.thread_index()
    for i in range(first, min(first + 4, len(out))):
        out[i] = value(i)


@simt.kernel(block=64, requires=["k >= 1", "k < 1000"])
def run_of_an_argument(out: Out1, k: int):
    first = k * simt.thread_index()
    for i in range(first, min(first + k, len(out))):
        out[i] = value(i)


@simt.kernel(block=64)
def run_unrolled(out: Out1):
    first = 4 * simt.thread_index()
    for j in simt.static_range(4):
        if first + j < len(out):
            out[first + j] = value(first + j)


@simt.kernel(block=64)
def window(out: Out1):
    """The thread's run as a part of its own."""
    first = min(4 * simt.thread_index(), len(out))
    mine = out.window(first, min(4, len(out) - first))
    for j in range(len(mine)):
        mine[j] = value(first + j)


@simt.kernel(block=64)
def one_a_warp(out: Out1):
    w = simt.warp_index()
    if simt.lane_index() == 0 and w < len(out):
        out[w] = value(w)


@simt.kernel(block=64)
def one_a_warp_elected(out: Out1):
    w = simt.warp_index()
    if simt.elect() and w < len(out):
        out[w] = value(w)


@simt.kernel(block=64)
def run_a_warp(out: Out1):
    i = 32 * simt.warp_index() + simt.lane_index()
    if i < len(out):
        out[i] = value(i)


@simt.kernel(block=64)
def one_a_block(out: Out1):
    b = simt.block_idx()
    if simt.thread_rank() == 0 and b < len(out):
        out[b] = value(b)


@simt.kernel(block=64)
def grid_stride(out: Out1):
    for i in simt.grid_stride(len(out)):
        out[i] = value(i)


@simt.kernel(block=64)
def grid_stride_while(out: Out1):
    i = simt.thread_index()
    while i < len(out):
        out[i] = value(i)
        i += 64 * simt.grid_dim()


@simt.kernel(block=64)
def grid_stride_unrolled(out: Out1):
    step = 64 * simt.grid_dim()
    for first in range(simt.thread_index(), len(out), 4 * step):
        for j in simt.static_range(4):
            if first + j * step < len(out):
                out[first + j * step] = value(first + j * step)


@simt.kernel(block=64)
def grid_stride_of_runs(out: Out1):
    for r in simt.grid_stride(simt.cdiv(len(out), 4)):
        for i in range(4 * r, min(4 * r + 4, len(out))):
            out[i] = value(i)


LINES: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "element": (element, lambda n: -(-n // 64)),
    "run": (run, lambda n: -(-n // 256)),
    "run of an argument": (run_of_an_argument, lambda n: -(-n // (64 * 7))),
    "run, unrolled": (run_unrolled, lambda n: -(-n // 256)),
    "window": (window, lambda n: -(-n // 256)),
    "one a warp": (one_a_warp, lambda n: -(-n // 2)),
    "one a warp, elected": (one_a_warp_elected, lambda n: -(-n // 2)),
    "run a warp": (run_a_warp, lambda n: -(-n // 64)),
    "one a block": (one_a_block, lambda n: n),
    "grid-stride": (grid_stride, lambda n: 3),
    "grid-stride while": (grid_stride_while, lambda n: 3),
    "grid-stride, unrolled": (grid_stride_unrolled, lambda n: 2),
    "grid-stride of runs": (grid_stride_of_runs, lambda n: 3),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", LINES)
def test_one_axis(device: Device, name: str, size: int) -> None:
    kernel, grid = LINES[name]
    out = device.empty(size, np.float32)
    kernel[grid(size)](out, *([7] if kernel is run_of_an_argument else []))
    np.testing.assert_array_equal(device.get(out), (np.arange(size) * VALUE).astype(np.float32))


@simt.kernel(block=(16, 8))
def element_2d(out: Out2):
    i, j = simt.thread_index_2d()
    if i < len(out) and j < out.shape[1]:
        out[i, j] = value(i * 1000 + j)


@simt.kernel(block=(16, 8))
def tile(out: Out2):
    """Two rows and four columns a thread; tiles at the edges are clipped."""
    r, c = simt.thread_index_2d()
    for i in range(2 * r, min(2 * r + 2, len(out))):
        for j in range(4 * c, min(4 * c + 4, out.shape[1])):
            out[i, j] = value(i * 1000 + j)


@simt.kernel(block=(16, 8))
def tile_unrolled(out: Out2):
    r, c = simt.thread_index_2d()
    for i in simt.static_range(2):
        for j in simt.static_range(4):
            if 2 * r + i < len(out) and 4 * c + j < out.shape[1]:
                out[2 * r + i, 4 * c + j] = value((2 * r + i) * 1000 + 4 * c + j)


@simt.kernel(block=(16, 8))
def tile_interleaved(out: Out2):
    """Elements of a tile that lie a block apart, so that neighbours write side by side."""
    r, c = simt.thread_idx(1), simt.thread_idx(0)
    for i in simt.static_range(2):
        for j in simt.static_range(4):
            row, column = 16 * simt.block_idx(1) + 8 * i + r, 64 * simt.block_idx(0) + 16 * j + c
            if row < len(out) and column < out.shape[1]:
                out[row, column] = value(row * 1000 + column)


@simt.kernel(block=(16, 8))
def grid_stride_2d(out: Out2):
    r, c = simt.thread_index_2d()
    for i in range(r, len(out), 8 * simt.grid_dim(1)):
        for j in range(c, out.shape[1], 16 * simt.grid_dim(0)):
            out[i, j] = value(i * 1000 + j)


@simt.kernel(block=64)
def row_a_thread(out: Out2):
    i = simt.thread_index()
    if i < len(out):
        row = out.row(i)
        for j in range(len(row)):
            row[j] = value(i * 1000 + j)


@simt.kernel(block=64)
def row_a_warp(out: Out2):
    i = simt.warp_index()
    if i < len(out):
        for j in range(simt.lane_index(), out.shape[1], 32):
            out[i, j] = value(i * 1000 + j)


@simt.kernel(block=64)
def row_a_block(out: Out2):
    i = simt.block_idx()
    if i < len(out):
        for j in range(simt.thread_rank(), out.shape[1], 64):
            out[i, j] = value(i * 1000 + j)


@simt.kernel(block=64)
def flat_grid_stride(out: Out2):
    for e in simt.grid_stride(len(out) * out.shape[1]):
        i, j = e // out.shape[1], e % out.shape[1]
        out[i, j] = value(i * 1000 + j)


PLANES: dict[str, tuple[Any, Callable[[int, int], Any]]] = {
    "element": (element_2d, lambda m, n: (-(-n // 16), -(-m // 8))),
    "tile": (tile, lambda m, n: (-(-n // 64), -(-m // 16))),
    "tile, unrolled": (tile_unrolled, lambda m, n: (-(-n // 64), -(-m // 16))),
    "tile, interleaved": (tile_interleaved, lambda m, n: (-(-n // 64), -(-m // 16))),
    "grid-stride": (grid_stride_2d, lambda m, n: (2, 3)),
    "row a thread": (row_a_thread, lambda m, n: -(-m // 64)),
    "row a warp": (row_a_warp, lambda m, n: -(-m // 2)),
    "row a block": (row_a_block, lambda m, n: m),
    "flat grid-stride": (flat_grid_stride, lambda m, n: 3),
}


def plane(m: int, n: int) -> Array:
    i, j = np.ogrid[:m, :n]
    return ((i * 1000 + j) * VALUE).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PLANES)
def test_two_axes(device: Device, name: str, shape: tuple[int, int]) -> None:
    kernel, grid = PLANES[name]
    out = device.empty(shape, np.float32)
    kernel[grid(*shape)](out)
    np.testing.assert_array_equal(device.get(out), plane(*shape))


@simt.kernel(
    block=(16, 8),
    requires=["m >= 0", "m < 100000", "0 <= n", "n <= stride", "stride < 100000", "len(out) >= m * stride"],
)
def strided_rows(out: Out1, m: int, n: int, stride: int):
    """A matrix in a vector, whose rows begin `stride` apart."""
    i, j = simt.thread_index_2d()
    if i < m and j < n:
        out[i * stride + j] = value(i * 1000 + j)


@pytest.mark.parametrize("shape", SHAPES)
def test_two_axes_with_a_stride(device: Device, shape: tuple[int, int]) -> None:
    m, n = shape
    out = device.put(np.full(m * (n + 3), -1, np.float32))
    strided_rows[-(-n // 16), -(-m // 8)](out, m, n, n + 3)
    found = device.get(out).reshape(m, n + 3)
    np.testing.assert_array_equal(found[:, :n], plane(m, n))
    assert (found[:, n:] == -1).all()


KERNELS = {name: kernel for name, (kernel, _) in LINES.items()}
KERNELS |= {f"{name}, two axes": kernel for name, (kernel, _) in PLANES.items()}
KERNELS["strided rows"] = strided_rows


@pytest.mark.parametrize("name", KERNELS)
def test_no_index_is_tested(name: str) -> None:
    kernel = KERNELS[name]
    given = {p.name: "i64" if p.name != "out" else f"f32[{', '.join('?' * p.rank)}]" for p in kernel.parameters}
    report = kernel.compile("cpu", **given).report
    assert report["bounds"] and report["ownership"]
    assert not [line for line in report["bounds"] if ": checked" in line]
