"""Kernels of threads, against NumPy: elements, shared memory, lanes, atomics, control flow, checks."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from kernel_device import Array, Device

import tileopt
from tileopt import simt


@simt.kernel(block=(256,), requires=["len(x) == len(out)"])
def scale(a: simt.f32, x: simt.Slice, out: simt.DisjointSlice):
    i = simt.thread_index()
    if i < len(out):
        out[i] = a * x[i]


@pytest.mark.parametrize("n", [1, 255, 256, 1000])
def test_scale(device: Device, rng: np.random.Generator, n: int) -> None:
    x = rng.standard_normal(n).astype(np.float32)
    out = device.empty(n, np.float32)
    scale[tileopt.cdiv(n, 256)](2.5, device.put(x), out)
    np.testing.assert_array_equal(device.get(out), np.float32(2.5) * x)


def test_the_plain_kernel_tests_nothing() -> None:
    compiled = scale.compile("cpu", a="f32", x="f32[?]", out="f32[?]")
    load, store = compiled.report["bounds"]
    assert "load of x: launch (" in load and "store to out: proved (" in store  # of x only the contract tells
    assert not compiled.module.checks
    assert "fault" not in compiled.llvm


@simt.kernel(block=(16, 8))
def add_2d(x: simt.Slice["f32", 2], y: simt.Slice["f32", 2], out: simt.DisjointSlice["f32", 2]):
    i, j = simt.thread_index_2d()
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[i, j] + y[i, j]


@pytest.mark.parametrize("shape", [(1, 1), (13, 37), (16, 64)])
def test_add_2d(device: Device, rng: np.random.Generator, shape: tuple[int, int]) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    y = rng.standard_normal((shape[0], 2 * shape[1])).astype(np.float32)[:, ::2]
    out = device.empty(shape, np.float32)
    grid = (tileopt.cdiv(shape[1], 16), tileopt.cdiv(shape[0], 8))
    add_2d[grid](device.put(x), device.put(y), out)
    np.testing.assert_array_equal(device.get(out), x + y)


@simt.kernel(block=(4, 3, 2))
def places(out: simt.DisjointSlice["i64", 2]):
    rank = simt.thread_index()
    out[rank, 0] = simt.thread_idx(0)
    out[rank, 1] = simt.thread_idx(1)
    out[rank, 2] = simt.thread_idx(2)
    out[rank, 3] = simt.block_idx(0)
    out[rank, 4] = simt.block_dim(1)


def test_places_in_three_axes(device: Device) -> None:
    out = device.empty((48, 5), np.int64)
    places[2](out)
    expected = [(x, y, z, b, 3) for b in range(2) for z in range(2) for y in range(3) for x in range(4)]
    np.testing.assert_array_equal(device.get(out), expected)


@simt.kernel(block=(256,))
def block_sum(x: simt.Slice, out: simt.DisjointSlice):
    parts = simt.shared(256)
    t = simt.thread_rank()
    i = simt.thread_index()
    value = 0.0
    if i < len(x):
        value = x[i]
    parts[t] = value
    simt.barrier()
    step = 128
    while step > 0:
        if t < step:
            parts[t] = parts[t] + parts[t + step]
        simt.barrier()
        step = step // 2
    if t == 0:
        out[simt.block_idx()] = parts[0]


def test_block_sum_in_shared_memory(device: Device, rng: np.random.Generator) -> None:
    x = rng.integers(-50, 50, 1000).astype(np.float32)
    out = device.empty(4, np.float32)
    block_sum[4](device.put(x), out)
    expected = np.pad(x, (0, 24)).reshape(4, 256).sum(1)
    np.testing.assert_array_equal(device.get(out), expected)


@simt.kernel(block=(128,))
def shuffled_sum(x: simt.Slice, out: simt.DisjointSlice):
    parts = simt.shared(4)
    i = simt.thread_index()
    value = 0.0
    if i < len(x):
        value = x[i]
    for step in simt.static_range(5):
        value = value + simt.shuffle_down(value, 16 >> step)
    if simt.lane_index() == 0:
        parts[simt.warp_rank()] = value
    simt.barrier()
    if simt.thread_rank() == 0:
        out[simt.block_idx()] = parts[0] + parts[1] + parts[2] + parts[3]


def test_reduction_by_shuffles(device: Device, rng: np.random.Generator) -> None:
    x = rng.integers(-50, 50, 500).astype(np.float32)
    out = device.empty(4, np.float32)
    shuffled_sum[4](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), np.pad(x, (0, 12)).reshape(4, 128).sum(1))


@simt.kernel(block=(16, 16))
def transpose(x: simt.Slice["f32", 2], out: simt.DisjointSlice["f32", 2]):
    tile = simt.shared((16, 17))
    i = simt.block_idx(1) * 16 + simt.thread_idx(1)
    j = simt.block_idx(0) * 16 + simt.thread_idx(0)
    if i < x.shape[0] and j < x.shape[1]:
        tile[simt.thread_idx(1), simt.thread_idx(0)] = x[i, j]
    simt.barrier()
    row = simt.block_idx(0) * 16 + simt.thread_idx(1)
    column = simt.block_idx(1) * 16 + simt.thread_idx(0)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = tile[simt.thread_idx(0), simt.thread_idx(1)]


@pytest.mark.parametrize("shape", [(16, 16), (50, 33)])
def test_transpose(device: Device, rng: np.random.Generator, shape: tuple[int, int]) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    out = device.empty(shape[::-1], np.float32)
    transpose[(tileopt.cdiv(shape[1], 16), tileopt.cdiv(shape[0], 16))](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), x.T)


@simt.kernel(block=(128,), grid_rank=1)
def histogram(x: simt.Slice["u8"], bins: simt.Atomic["u32"]):
    counts = simt.shared(256, "u32")
    for k in range(2):
        counts[simt.thread_rank() + 128 * k] = 0
    simt.barrier()
    for i in simt.grid_stride(len(x)):
        simt.atomic_add(counts, simt.i64(x[i]), 1)
    simt.barrier()
    for k in range(2):
        at = simt.thread_rank() + 128 * k
        simt.atomic_add(bins, at, counts[at])


def test_histogram(device: Device, rng: np.random.Generator) -> None:
    x = (rng.standard_normal(20000) * 30 + 128).clip(0, 255).astype(np.uint8)
    bins = device.put(np.zeros(256, np.uint32))
    histogram[8](device.put(x), bins)
    np.testing.assert_array_equal(device.get(bins), np.bincount(x, minlength=256))


@simt.kernel(block=(16, 16))
def mandelbrot(out: simt.DisjointSlice["i32", 2], limit: int):
    i, j = simt.thread_index_2d()
    if i < out.shape[0] and j < out.shape[1]:
        cr = simt.f64(j) / 20.0 - 2.0
        ci = simt.f64(i) / 20.0 - 1.0
        zr, zi = 0.0 * cr, 0.0 * ci
        steps = 0
        while steps < limit:
            if zr * zr + zi * zi > 4.0:
                break
            zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
            steps += 1
        out[i, j] = simt.i32(steps)


def test_mandelbrot_with_early_exit(device: Device) -> None:
    shape, limit = (41, 61), 50
    out = device.empty(shape, np.int32)
    mandelbrot[(4, 3)](out, limit)
    c = np.arange(61)[None] / 20.0 - 2.0 + 1j * (np.arange(41)[:, None] / 20.0 - 1.0)
    z, expected = np.zeros(shape, complex), np.full(shape, limit)
    for step in range(limit):
        expected = np.where((expected == limit) & (z.real**2 + z.imag**2 > 4), step, expected)
        z = np.where(abs(z) <= 2, z * z + c, z)
    # On the edge of the set the last bit decides.
    assert (device.get(out) != expected).mean() < 0.01


@simt.kernel(block=(64,))
def sparse_product(
    starts: simt.Slice["i64"], columns: simt.Slice["i64"], values: simt.Slice, x: simt.Slice, y: simt.DisjointSlice
):
    row = simt.thread_index()
    if row < len(y):
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


def sparse(rng: np.random.Generator, rows: int, columns: int) -> tuple[Array, Array, Array, Array]:
    dense = np.where(rng.random((rows, columns)) < 0.1, rng.integers(-9, 9, (rows, columns)), 0).astype(np.float32)
    row, column = np.nonzero(dense)
    starts = np.searchsorted(row, np.arange(rows + 1))
    return dense, starts.astype(np.int64), column.astype(np.int64), dense[row, column]


def test_sparse_product(device: Device, rng: np.random.Generator) -> None:
    dense, starts, columns, values = sparse(rng, 150, 90)
    x = rng.integers(-9, 9, 90).astype(np.float32)
    y = device.empty(150, np.float32)
    sparse_product[3](*map(device.put, (starts, columns, values, x)), y)
    np.testing.assert_array_equal(device.get(y), dense @ x)


@simt.kernel(block=(256,))
def bitonic(x: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    s = simt.shared(256, "i32")
    t = simt.thread_rank()
    i = simt.thread_index()
    if i < len(x):
        s[t] = x[i]
    simt.barrier()
    size = 2
    while size <= 256:
        step = size // 2
        while step > 0:
            other = t ^ step
            if other > t:
                a, b = s[t], s[other]
                if (a > b) == ((t & size) == 0):
                    s[t] = b
                    s[other] = a
            simt.barrier()
            step = step // 2
        size = size * 2
    if i < len(out):
        out[i] = s[t]


def test_bitonic_sort(device: Device, rng: np.random.Generator) -> None:
    x = rng.integers(-1000, 1000, 512).astype(np.int32)
    out = device.empty(512, np.int32)
    bitonic[2](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), np.sort(x.reshape(2, 256), 1).ravel())


# Checks. On a GPU a failed check ends the context, so these run on the CPU alone.


@simt.kernel(block=(32, 2))
def reads_beyond(x: simt.Slice, out: simt.DisjointSlice, shift: int):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i + shift]  # the line of the error


def test_a_read_out_of_bounds_names_its_place() -> None:
    x, out = np.arange(640, dtype=np.float32), np.zeros(640, np.float32)
    reads_beyond[10](x, out, 0)
    np.testing.assert_array_equal(out, x)
    with pytest.raises(tileopt.BoundsError) as caught:
        reads_beyond[10](x, out, 1)
    error = caught.value
    assert "index 640 of 'x', whose length is 640" in error.message
    assert "thread (31, 1, 0) of block (9, 0, 0)" in error.message
    assert error.location is not None
    with open(__file__) as file:
        assert "# the line of the error" in file.readlines()[error.location.line - 1]
    with pytest.raises(tileopt.BoundsError, match=r"index -\d+ of 'x'"):
        reads_beyond[10](x, out, -70)
    reads_beyond[10](x, out, 0)  # the next launch is sound


@simt.kernel(block=(32,))
def windows(x: simt.Slice, starts: simt.Slice["i64"], out: simt.DisjointSlice):
    i = simt.thread_index()
    if i < len(out):
        total = 0.0
        for v in x.window(starts[i], 4):
            total += v
        out[i] = total


def test_a_window_is_checked_where_it_is_made() -> None:
    x, out = np.arange(50, dtype=np.float32), np.zeros(20, np.float32)
    starts = np.arange(20, dtype=np.int64) * 2
    windows[1](x, starts, out)
    np.testing.assert_array_equal(out, [x[s : s + 4].sum() for s in starts])
    for start in (47, -1, 2**62, -(2**63)):
        starts[7] = start
        said = f"a window of 'x' that starts at {start}, whose last start that fits is 46, in thread .7, 0, 0."
        with pytest.raises(tileopt.BoundsError, match=said):
            windows[1](x, starts, out)


@simt.kernel(block=(64,), requires=["len(x) == len(out)"])
def doubled(x: simt.Slice, out: simt.DisjointSlice):
    i = simt.thread_index()
    if i < len(out):
        out[i] = 2.0 * x[i]


def test_one_array_given_twice_shall_be_one_owned_parameter() -> None:
    x = np.ones(50, np.float32)
    with pytest.raises(tileopt.OwnershipError, match="one simt.DisjointSlice parameter in place of 'out' and 'x'"):
        doubled[1](x, x)


@simt.kernel(block=(8,))
def parts_outside(a: simt.Slice["f32", 2], x: simt.Slice, out: simt.DisjointSlice, part: simt.Const[str], n: int):
    i = simt.thread_index()
    if part == "count":
        out[i] = x.window(i, n)[0]
    elif part == "row":
        out[i] = a[n][0]
    elif part == "column":
        out[i] = a.col(n)[0]
    elif part == "index":
        out[i] = x.window(0, 2)[n]
    elif part == "row of a window":
        out[i] = a.window(1, 3).row(n)[0]
    else:
        out[i] = a.row(1).window(n, 2)[0]


@pytest.mark.parametrize(
    ("part", "n", "said"),
    [
        ("count", -5, "a window of -5 elements of 'x', whose length is 9, in"),
        ("count", 10, "a window of 10 elements of 'x', whose length is 9, in"),
        ("count", 3, "a window of 'x' that starts at 7, whose last start that fits is 6, in"),
        ("row", 5, "row 5 of 'a', which has 5 rows, in"),
        ("row", -1, "row -1 of 'a', which has 5 rows, in"),
        ("column", 3, "column 3 of 'a', which has 3 columns, in"),
        ("index", 2, "index 2 of a window of 'x', whose length is 2, in"),
        ("row of a window", 3, "row 3 of a window of 'a', which has 3 rows, in"),
        ("window of a row", 2, "a window of a row of 'a' that starts at 2, whose last start that fits is 1, in"),
    ],
)
def test_a_part_that_is_outside_says_what_it_is(part: str, n: int, said: str) -> None:
    a, x, out = np.zeros((5, 3), np.float32), np.zeros(9, np.float32), np.zeros(8, np.float32)
    with pytest.raises(tileopt.BoundsError) as caught:
        parts_outside[1](a, x, out, part, n)
    assert f": {said}" in str(caught.value)


@simt.kernel(block=(64,))
def waits_while_one_fails(x: simt.Slice, out: simt.DisjointSlice):
    s = simt.shared(64)
    t = simt.thread_rank()
    s[t] = x[t * 2]
    simt.barrier()
    out[simt.thread_index()] = s[63 - t]


def test_a_failure_before_a_barrier_stops_the_grid() -> None:
    out = np.full(64 * 100, -1, np.float32)
    with pytest.raises(tileopt.BoundsError, match="index 100 of 'x'"):
        waits_while_one_fails[100](np.zeros(100, np.float32), out)
    assert (out == -1).all()


@simt.kernel(block=(64,))
def shared_beyond(out: simt.DisjointSlice["i32"], n: int):
    s = simt.shared(64, "i32")
    s[simt.thread_rank() + n] = 1
    simt.barrier()
    out[simt.thread_index()] = s[simt.thread_rank()]


def test_shared_memory_is_checked() -> None:
    out = np.zeros(64, np.int32)
    shared_beyond[1](out, 0)
    assert (out == 1).all()
    with pytest.raises(tileopt.BoundsError, match="index 64 of 's', whose length is 64"):
        shared_beyond[1](out, 1)


@simt.kernel(block=(64,))
def diverging_beyond(x: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    i = simt.thread_index()
    if simt.warp_rank() == 1:
        value = simt.warp_reduce(x[i + 1])
        out[i] = value


def test_a_failure_among_coroutines() -> None:
    x, out = np.ones(65, np.int32), np.zeros(64, np.int32)
    diverging_beyond[1](x, out)
    np.testing.assert_array_equal(out, np.repeat([0, 32], 32))
    with pytest.raises(tileopt.BoundsError, match="index 64 of 'x'"):
        diverging_beyond[1](x[:64], out)


# Lanes


def lanes_together(v: Any, i: Any, two: Any, out: Any) -> None:
    lane = simt.i32(simt.lane_index())
    out[0, i] = simt.shuffle(v, (lane * 5 + 3) % 32)
    out[1, i] = simt.shuffle_up(v, two)
    out[2, i] = simt.shuffle_down(v, two)
    out[3, i] = simt.shuffle_xor(v, 5)
    out[4, i] = simt.shuffle(v, 1, width=8)
    out[5, i] = simt.shuffle_down(v, 3, width=8)
    out[6, i] = simt.i32(simt.any_sync(v > 95))
    out[7, i] = simt.i32(simt.all_sync(v >= -90))
    out[8, i] = simt.bitcast(simt.ballot(v > 0), simt.i32)
    out[9, i] = simt.bitcast(simt.match_any(v % 4), simt.i32)
    out[10, i] = simt.warp_reduce(v)
    out[11, i] = simt.warp_reduce(v, "max", width=8)
    out[12, i] = simt.popc(v)
    out[13, i] = simt.clz(v)
    out[14, i] = simt.bitcast(simt.lane_mask("lt"), simt.i32)
    out[15, i] = simt.i32(simt.elect())
    out[16, i] = simt.warp_reduce(v, "xor")
    out[17, i] = simt.bitcast(simt.match_all(v // 1000), simt.i32)


@simt.kernel(block=(64,))
def all_lanes(x: simt.Slice["i32"], out: simt.DisjointSlice["i32", 2], two: int):
    i = simt.thread_index()
    lanes_together(x[i], i, two, out)


@simt.kernel(block=(64,))
def lanes_apart(x: simt.Slice["i32"], out: simt.DisjointSlice["i32", 2], two: int):
    """The same where the warps need not come along: on the CPU each thread is a coroutine."""
    i = simt.thread_index()
    if x[simt.warp_rank() * 32] > -1000:
        lanes_together(x[i], i, two, out)


@pytest.mark.parametrize("kernel", [all_lanes, lanes_apart], ids=lambda k: k.name)
def test_lanes(device: Device, rng: np.random.Generator, kernel: Any) -> None:
    x = rng.integers(-99, 99, 64).astype(np.int32)
    out = device.empty((18, 64), np.int32)
    kernel[1](device.put(x), out, 2)
    got = device.get(out)
    lane = np.arange(32)
    for w in range(2):
        v, rows = x[32 * w : 32 * w + 32], got[:, 32 * w : 32 * w + 32]
        u = v.view(np.uint32)
        bits = np.uint32(1) << lane.astype(np.uint32)
        eights = v.reshape(4, 8)
        expected: list[Any] = [
            v[(lane * 5 + 3) % 32],
            np.where(lane >= 2, v[lane - 2], v),
            np.where(lane < 30, v[(lane + 2) % 32], v),
            v[lane ^ 5],
            np.repeat(eights[:, 1], 8),
            np.where(lane % 8 < 5, v[(lane + 3) % 32], v),
            [int((v > 95).any())] * 32,
            [int((v >= -90).all())] * 32,
            np.full(32, bits[v > 0].sum(dtype=np.uint32)).view(np.int32),
            np.array([bits[v % 4 == a].sum(dtype=np.uint32) for a in v % 4]).view(np.int32),
            [v.sum()] * 32,
            np.repeat(eights.max(1), 8),
            [bin(a).count("1") for a in u],
            [32 - int(a).bit_length() for a in u],
            (bits - np.uint32(1)).view(np.int32),
            lane == 0,
            [np.bitwise_xor.reduce(v)] * 32,
            [-1 if len(set(v // 1000)) == 1 else 0] * 32,
        ]
        for number, row in enumerate(expected):
            np.testing.assert_array_equal(rows[number], row, err_msg=f"row {number} of warp {w}")


@simt.kernel(block=(48,))
def part_of_a_warp(x: simt.Slice, out: simt.DisjointSlice["f32", 2]):
    i = simt.thread_index()
    v = x[i]
    out[0, i] = simt.warp_reduce(v)
    out[1, i] = simt.warp_reduce(v, "max")
    out[2, i] = simt.f32(simt.popc(simt.ballot(True)))
    out[3, i] = simt.shuffle_down(v, 1)


def test_a_warp_with_fewer_lanes(device: Device, rng: np.random.Generator) -> None:
    x = rng.integers(-99, 99, 48).astype(np.float32)
    out = device.empty((4, 48), np.float32)
    part_of_a_warp[1](device.put(x), out)
    got = device.get(out)
    for begin, end in ((0, 32), (32, 48)):
        v, rows = x[begin:end], got[:, begin:end]
        np.testing.assert_array_equal(rows[0], v.sum())
        np.testing.assert_array_equal(rows[1], v.max())
        np.testing.assert_array_equal(rows[2], end - begin)
        np.testing.assert_array_equal(rows[3], np.append(v[1:], v[-1]))


@simt.kernel(block=(64,))
def scalars_of_every_width(
    a: simt.Slice["f16"], b: simt.Slice["f64"], c: simt.Slice["i8"], out: simt.DisjointSlice["f64", 2]
):
    i = simt.thread_index()
    out[0, i] = simt.f64(simt.shuffle_xor(a[i], 1))
    out[1, i] = simt.shuffle_xor(b[i], 3)
    out[2, i] = simt.f64(simt.shuffle(c[i], 31))
    out[3, i] = simt.f64(simt.warp_reduce(a[i], "max"))
    out[4, i] = simt.warp_reduce(b[i])


def test_scalars_of_every_width(device: Device, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal(64).astype(np.float16), rng.integers(-9, 9, 64).astype(np.float64)
    c = rng.integers(-99, 99, 64).astype(np.int8)
    out = device.empty((5, 64), np.float64)
    scalars_of_every_width[1](*map(device.put, (a, b, c)), out)
    got, i = device.get(out), np.arange(64)
    np.testing.assert_array_equal(got[0], a[i ^ 1])
    np.testing.assert_array_equal(got[1], b[i ^ 3])
    np.testing.assert_array_equal(got[2], np.repeat(c[[31, 63]], 32))
    np.testing.assert_array_equal(got[3], np.repeat(a.reshape(2, 32).max(1), 32))
    np.testing.assert_array_equal(got[4], np.repeat(b.reshape(2, 32).sum(1), 32))


# Atomics


@simt.kernel(block=(128,))
def integer_atomics(x: simt.Slice["i32"], out: simt.Atomic["i32"], counters: simt.Atomic["u32"]):
    v = x[simt.thread_index()]
    simt.atomic_add(out, 0, v)
    simt.atomic_sub(out, 1, v)
    simt.atomic_max(out, 2, v)
    simt.atomic_min(out, 3, v)
    simt.atomic_and(out, 4, v)
    simt.atomic_or(out, 5, v)
    simt.atomic_xor(out, 6, v)
    simt.atomic_inc(counters, 0, 99)
    simt.atomic_dec(counters, 1, 99)
    simt.atomic_add(counters, 2, 1, order="acq_rel", scope="system")


def test_integer_atomics(device: Device, rng: np.random.Generator) -> None:
    x = rng.integers(-(2**20), 2**20, 128 * 40).astype(np.int32)
    out, counters = device.put(np.array([0, 0, 0, 0, -1, 0, 0], np.int32)), device.put(np.zeros(3, np.uint32))
    integer_atomics[40](device.put(x), out, counters)
    reduce = [np.bitwise_and.reduce(x), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x)]
    total = x.sum(dtype=np.int32)
    np.testing.assert_array_equal(device.get(out), [total, -total, x.max(), x.min(), *reduce])
    up = len(x) % 100
    np.testing.assert_array_equal(device.get(counters), [up, (100 - up) % 100, len(x)])


@simt.kernel(block=(128,))
def float_atomics(x: simt.Slice, out: simt.Atomic):
    v = x[simt.thread_index()]
    simt.atomic_add(out, 0, v)
    simt.atomic_sub(out, 1, v)
    simt.atomic_max(out, 2, v)
    simt.atomic_min(out, 3, v)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_float_atomics(device: Device, rng: np.random.Generator, name: str) -> None:
    x = rng.integers(-2, 3, 128 * 8).astype(name)
    out = device.put(np.zeros(4, name))
    float_atomics[8](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), np.array([x.sum(), -x.sum(), x.max(), x.min()], name))


@simt.kernel(block=(64,))
def multiply(x: simt.Slice["f64"], out: simt.Atomic["f64"]):
    v = x[simt.thread_index()]
    seen = simt.atomic_add(out, 0, 0.0)
    done = False
    while not done:
        old = simt.atomic_cas(out, 0, seen, seen * v)
        done = simt.bitcast(old, simt.i64) == simt.bitcast(seen, simt.i64)
        seen = old


def test_compare_and_swap(device: Device) -> None:
    x = np.ones(640)
    x[::10] = 2
    out = device.put(np.ones(1))
    multiply[10](device.put(x), out)
    assert device.get(out)[0] == 2.0**64


@simt.kernel(block=(64,), shared_bytes=1024)
def dynamic(x: simt.Slice["i32"], out: simt.DisjointSlice["i32"]):
    static = simt.shared(64, "i32")
    first = simt.dynamic_shared(64, "i32")
    second = simt.dynamic_shared(64, "i64", offset=512)
    t, i = simt.thread_rank(), simt.thread_index()
    static[t] = x[i]
    first[t] = x[i] * 2
    second[t] = simt.i64(x[i]) * 3
    simt.barrier()
    out[i] = static[63 - t] + first[63 - t] + simt.i32(second[63 - t])


def test_static_and_dynamic_shared_memory(device: Device) -> None:
    x = np.arange(128, dtype=np.int32)
    out = device.empty(128, np.int32)
    dynamic[2](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), x.reshape(2, 64)[:, ::-1].ravel() * 6)


@simt.kernel(block=(64,))
def bools(x: simt.Slice["bool"], out: simt.DisjointSlice["bool"], count: simt.Atomic["i32"]):
    s = simt.shared(64, "bool")
    t, i = simt.thread_rank(), simt.thread_index()
    s[t] = x[i]
    simt.barrier()
    v = s[63 - t]
    out[i] = simt.shuffle_xor(v, 1)
    if v:
        simt.atomic_add(count, 0, 1)


def test_bools(device: Device, rng: np.random.Generator) -> None:
    x = rng.random(128) > 0.5
    out, count = device.empty(128, np.bool_), device.put(np.zeros(1, np.int32))
    bools[2](device.put(x), out, count)
    backwards = x.reshape(2, 64)[:, ::-1].reshape(64, 2)
    np.testing.assert_array_equal(device.get(out), backwards[:, ::-1].ravel())
    assert device.get(count)[0] == x.sum()


@simt.kernel(block=(64,))
def carried(x: simt.Slice["f32"], out: simt.DisjointSlice["f32"], steps: int):
    s = simt.shared(64)
    t, i = simt.thread_rank(), simt.thread_index()
    v = x[i]
    k = 0
    while k < steps:
        s[t] = v
        simt.barrier()
        v = v + s[(t + 1) % 64]
        simt.barrier()
        k += 1
    out[i] = v


def test_values_carried_past_barriers(device: Device, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, 64).astype(np.float32)
    out = device.empty(64, np.float32)
    carried[1](device.put(x), out, 5)
    for _ in range(5):
        x = x + np.roll(x, -1)
    np.testing.assert_array_equal(device.get(out), x)


@simt.kernel(block=(32,))
def dot(x: simt.Slice, y: simt.Slice, out: simt.DisjointSlice):
    i = simt.thread_index()
    out[i] = simt.warp_reduce(x[i] * y[i])


def test_all_lanes_have_one_sum(device: Device, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 3200)).astype(np.float32)
    out = device.empty(3200, np.float32)
    dot[100](device.put(x), device.put(y), out)
    parts = (x * y).reshape(100, 32)
    while parts.shape[1] > 1:
        half = parts.shape[1] // 2
        parts = parts[:, :half] + parts[:, half:]
    np.testing.assert_array_equal(device.get(out), np.repeat(parts[:, 0], 32))


# On the CPU, threads as coroutines


@pytest.mark.parametrize(
    ("test", "kernel"),
    [
        (test_block_sum_in_shared_memory, block_sum),
        (test_reduction_by_shuffles, shuffled_sum),
        (test_bitonic_sort, bitonic),
        (test_bools, bools),
        (test_values_carried_past_barriers, carried),
        (test_a_read_out_of_bounds_names_its_place, reads_beyond),
        (test_a_failure_before_a_barrier_stops_the_grid, waits_while_one_fails),
        (test_a_warp_with_fewer_lanes, part_of_a_warp),
        (test_scalars_of_every_width, scalars_of_every_width),
        (test_static_and_dynamic_shared_memory, dynamic),
    ],
    ids=lambda found: getattr(found, "name", ""),
)
def test_coroutines_do_the_same(
    test: Any, kernel: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tileopt.backends.cpu.backend import CpuBackend

    make = CpuBackend.__init__
    monkeypatch.setattr(CpuBackend, "__init__", lambda self, modelled=False: make(self, True, modelled))
    monkeypatch.setenv("TILEOPT_CACHE", "0")
    monkeypatch.setattr(kernel, "_dispatcher", None, raising=False)
    given = {"device": Device("cpu"), "rng": rng}
    test(**{name: given[name] for name in inspect.signature(test).parameters})
    monkeypatch.setattr(kernel, "_dispatcher", None, raising=False)


# Assembly


COMPILED: dict[Any, dict[str, Any]] = {
    scale: {"a": "f32", "x": "f32[?]", "out": "f32[?]"},
    block_sum: {"x": "f32[?]", "out": "f32[?]"},
    transpose: {"x": "f32[?,?]", "out": "f32[?,?]"},
    histogram: {"x": "u8[?]", "bins": "u32[?]"},
    all_lanes: {"x": "i32[?]", "out": "i32[?,?]", "two": "i64"},
    part_of_a_warp: {"x": "f32[?]", "out": "f32[?,?]"},
    scalars_of_every_width: {"a": "f16[?]", "b": "f64[?]", "c": "i8[?]", "out": "f64[?,?]"},
    integer_atomics: {"x": "i32[?]", "out": "i32[?]", "counters": "u32[?]"},
    float_atomics: {"x": "bf16[?]", "out": "bf16[?]"},
    bools: {"x": "bool[?]", "out": "bool[?]", "count": "i32[?]"},
    carried: {"x": "f32[?]", "out": "f32[?]", "steps": "i64"},
    multiply: {"x": "f64[?]", "out": "f64[?]"},
    dynamic: {"x": "i32[?]", "out": "i32[?]"},
}


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("kernel", COMPILED, ids=lambda k: k.name)
def test_ptxas_assembles(kernel: Any, target: str) -> None:
    compiled = kernel.compile(target, **COMPILED[kernel])
    assert ".extern .func" not in compiled.ptx
    assert compiled.cubin
