"""Kernels of both tracks in turn on one stream: rows are looked up by threads, multiplied as tiles with a function of
threads on each element of the result, and counted by threads again. A graph repeats all of it."""

from __future__ import annotations

import tileopt
from tileopt import simt, tile


@tile.kernel
def clear(counts: tile.Out, BLOCK: tile.Const = 64):
    tile.store(counts, tile.bid(0), tile.zeros(BLOCK, counts.dtype))


@simt.kernel(block=(32, 8), requires=["x.shape[0] == len(tokens)", "x.shape[1] == table.shape[1]"])
def look_up(tokens: simt.Slice["i64", 1], table: simt.Slice["f32", 2], x: simt.DisjointSlice["f32", 2]):
    """x[i] = table[tokens[i]]"""
    i, j = simt.thread_index_2d()
    if i < len(x) and j < x.shape[1]:
        x[i, j] = table[tokens[i], j]


def soft_sign(v, rounds):
    """v / (1 + |v|), `rounds` times, where that still changes something."""
    n = 0
    while n < rounds and simt.abs(v) > 0.125:
        v, n = v / (1.0 + simt.abs(v)), n + 1
    return v


@tile.kernel
def layer(x: tile.In, w: tile.In, y: tile.Out, rounds: int, BM: tile.Const = 32, BN: tile.Const = 32):
    """y = soft_sign(x @ w)"""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(x.shape[1], 16)):
        acc = tile.mma(tile.load(x, (i, k), (BM, 16)), tile.load(w, (k, j), (16, BN)), acc)
    tile.store(y, (i, j), tile.map_simt(soft_sign, acc, rounds))


@simt.kernel(block=128, requires=["len(best) == len(y)"])
def vote(y: simt.Slice["f32", 2], best: simt.DisjointSlice["i64", 1], counts: simt.Atomic["u32"]):
    """Each row's greatest column, and how many rows have it."""
    i = simt.thread_index()
    if i < len(y):
        greatest, at = float("-inf"), 0
        for j in range(y.shape[1]):
            if y[i, j] > greatest:
                greatest, at = y[i, j], j
        best[i] = at
        if at < len(counts):
            simt.atomic_add(counts, at, 1)


def launches(tokens, table, w, x, y, best, counts, rounds=2):
    """The work on the current stream."""
    (rows, columns), classes = x.shape, w.shape[1]
    clear[(tileopt.cdiv(classes, 64),)](counts)
    look_up[tileopt.cdiv(columns, 32), tileopt.cdiv(rows, 8)](tokens, table, x)
    layer[(tileopt.cdiv(rows, 32), tileopt.cdiv(classes, 32))](x, w, y, rounds)
    vote[tileopt.cdiv(rows, 128)](y, best, counts)


if __name__ == "__main__":
    import numpy as np

    rng = np.random.default_rng(0)
    table, w = rng.standard_normal((50, 40), np.float32), rng.standard_normal((40, 30), np.float32)
    x, y = np.empty((200, 40), np.float32), np.empty((200, 30), np.float32)
    tokens, best, counts = rng.integers(0, 50, 200), np.empty(200, np.int64), np.empty(30, np.uint32)
    stream, graph = tileopt.Stream(), tileopt.Graph()
    with stream:
        launches(tokens, table, w, x, y, best, counts)
    with graph.capture(stream):
        launches(tokens, table, w, x, y, best, counts)
    tokens[:] = rng.integers(0, 50, 200)
    graph.replay()
    stream.synchronize()
    np.testing.assert_array_equal(best, y.argmax(axis=1))
    np.testing.assert_array_equal(counts, np.bincount(best, minlength=30))
    print("mixed: 200 rows looked up, multiplied and counted, in a graph of kernels of both tracks")
