"""Tiles of a product in groups of rows, so that blocks that run together share what they read."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def gemm(a: tile.In, b: tile.In, c: tile.Out, G: tile.Const[int] = 3, B: tile.Const[int] = 16):
    rows, columns = tile.cdiv(c.shape[0], B), tile.cdiv(c.shape[1], B)
    pid = tile.bid(0)
    first = pid // (G * columns) * G
    size = tile.minimum(rows - first, G)
    i, j = first + pid % (G * columns) % size, pid % (G * columns) // size
    acc = tile.zeros((B, B))
    for k in range(tile.cdiv(a.shape[1], B)):
        acc = tile.mma(tile.load(a, (i, k), (B, B)), tile.load(b, (k, j), (B, B)), acc)
    tile.store(c, (i, j), acc)


a, b = np.random.default_rng().random((70, 33)), np.random.default_rng().random((33, 50))
c = np.empty((70, 50), np.float32)
gemm[5 * 4](a.astype(np.float32), b.astype(np.float32), c)
np.testing.assert_allclose(c, a @ b, rtol=1e-4)
