"""Blocks along the third axis add their parts of one tile."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def gemm(a: tile.In, b: tile.In, c: tile.Atomic, B: tile.Const[int] = 16):
    i, j, part = tile.bid(0), tile.bid(1), tile.bid(2)
    acc = tile.zeros((B, B))
    for k in range(part, tile.cdiv(a.shape[1], B), tile.num_blocks(2)):
        acc = tile.mma(tile.load(a, (i, k), (B, B)), tile.load(b, (k, j), (B, B)), acc)
    tile.atomic_add(c, (i, j), acc)


a, b = np.random.default_rng().random((20, 150)), np.random.default_rng().random((150, 30))
c = np.zeros((20, 30), np.float32)
gemm[2, 2, 4](a.astype(np.float32), b.astype(np.float32), c)
np.testing.assert_allclose(c, a @ b, rtol=1e-4)
