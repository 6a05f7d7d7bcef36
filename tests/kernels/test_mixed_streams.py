"""Kernels of both tracks in turn on one stream over the same arrays, and as a graph, against NumPy in float64."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_device import Array, Device

import tileopt
from tileopt import simt, tile

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from mixed import launches


def settled(device: Device) -> None:
    """What PyTorch does to arrays is on a stream of its own."""
    if device.name != "cpu":
        import torch

        torch.cuda.synchronize()


def change(device: Device, array: Any, values: Array) -> None:
    """Other values in the same memory."""
    if device.name == "cpu":
        array[...] = values
    else:
        import torch

        array.copy_(torch.from_numpy(values))
    settled(device)


def expected(tokens: Array, table: Array, w: Array) -> Array:
    y = table[tokens].astype(np.float64) @ w.astype(np.float64)
    for _ in range(2):
        y = np.where(np.abs(y) > 0.125, y / (1 + np.abs(y)), y)
    return y


def check(device: Device, tokens: Array, table: Array, w: Array, y: Any, best: Any, counts: Any) -> None:
    made = device.get(y)
    wanted = expected(tokens, table, w)
    # Beside 0.125 either way is right.
    near = np.abs(np.abs(wanted) - 0.125) < 1e-4
    np.testing.assert_allclose(made[~near], wanted[~near], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(device.get(best), made.argmax(axis=1))
    np.testing.assert_array_equal(device.get(counts), np.bincount(made.argmax(axis=1), minlength=made.shape[1]))


@pytest.mark.parametrize(("rows", "columns", "classes"), [(1, 1, 1), (75, 33, 70), (300, 64, 129)])
def test_a_stream_and_a_graph(device: Device, rng: np.random.Generator, rows: int, columns: int, classes: int) -> None:
    table = rng.standard_normal((41, columns)).astype(np.float32)
    w = rng.standard_normal((columns, classes)).astype(np.float32)
    tokens = [rng.integers(0, 41, rows) for _ in range(3)]
    given = [device.put(a) for a in (tokens[0].copy(), table, w)]
    x, y = device.empty((rows, columns), np.float32), device.empty((rows, classes), np.float32)
    best, counts = device.empty(rows, np.int64), device.empty(classes, np.uint32)
    settled(device)
    stream, graph = tileopt.Stream(device.name), tileopt.Graph()
    with stream:
        launches(*given, x, y, best, counts)
    stream.synchronize()
    check(device, tokens[0], table, w, y, best, counts)
    with graph.capture(stream):
        launches(*given, x, y, best, counts)
    for again in tokens[1:]:
        change(device, given[0], again)
        graph.replay()
        stream.synchronize()
        check(device, again, table, w, y, best, counts)


@simt.kernel(block=64, requires=["len(a) == len(b)"])
def rotate(a: simt.Slice, b: simt.DisjointSlice):
    i = simt.thread_index()
    if i < len(b):
        b[i] = a[(i * 7 + 3) % len(a)]


@tile.kernel
def halve_and_add(b: tile.In, a: tile.InOut, BLOCK: tile.Const = 100):
    i = tile.bid(0)
    half = tile.map_simt(lambda u, v: u + v * 0.5, tile.load(a, i, BLOCK), tile.load(b, i, BLOCK))
    tile.store(a, i, half)


@simt.kernel(block=128)
def smooth(a: simt.DisjointSlice["f32", 1]):
    """A kernel that is of both tracks itself: a block's tile of its own elements."""
    part = simt.shared(128)
    i, rank = simt.thread_index(), simt.thread_rank()
    part[rank] = a[i] if i < len(a) else simt.f32(0.0)
    tile.store(part, tile.load(part) - tile.load(part).sum() * 0.0078125)
    if i < len(a):
        a[i] = part[rank]


@pytest.mark.parametrize("n", [1, 128, 1003])
def test_many_launches_over_the_same_two_arrays(device: Device, rng: np.random.Generator, n: int) -> None:
    start = rng.standard_normal(n).astype(np.float32)
    a, b = device.put(start.copy()), device.empty(n, np.float32)
    settled(device)
    stream = tileopt.Stream(device.name)
    for _ in range(5):
        rotate[tileopt.cdiv(n, 64)](a, b, stream=stream)
        halve_and_add[(tileopt.cdiv(n, 100),)](b, a, stream=stream)
        smooth[tileopt.cdiv(n, 128)](a, stream=stream)
    stream.synchronize()
    wanted = start.astype(np.float64)
    for _ in range(5):
        wanted = wanted + wanted[(np.arange(n) * 7 + 3) % n] * 0.5
        blocks = np.pad(wanted, (0, -n % 128)).reshape(-1, 128)
        wanted = (blocks - blocks.sum(1, keepdims=True) / 128).ravel()[:n]
    np.testing.assert_allclose(device.get(a), wanted, rtol=1e-4, atol=1e-4)


def test_a_graph_of_both_tracks_is_one_program() -> None:
    n = 300
    a, b = np.zeros(n, np.float32), np.zeros(n, np.float32)
    stream, graph = tileopt.Stream("cpu"), tileopt.Graph()
    with graph.capture(stream):
        rotate[tileopt.cdiv(n, 64)](a, b)
        halve_and_add[(tileopt.cdiv(n, 100),)](b, a)
    text = graph.ir()
    assert "simt.kernel @rotate" in text and "tile.kernel @halve_and_add" in text
    assert text.index("stream.launch @rotate") < text.index("stream.launch @halve_and_add")
