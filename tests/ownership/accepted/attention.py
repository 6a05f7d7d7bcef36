"""Attention forward, causal, with an online softmax: a block owns the rows of its queries."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def attention(q: tile.In, k: tile.In, v: tile.In, out: tile.Out, B: tile.Const[int] = 16, D: tile.Const[int] = 8):
    i = tile.bid(0)
    queries = tile.load(q, (i, 0), (B, D))
    high, total, acc = tile.full((B, 1), -1e30), tile.zeros((B, 1)), tile.zeros((B, D))
    rows = i * B + tile.arange(B)[:, None]
    for j in range(i + 1):
        columns = j * B + tile.arange(B)[None, :]
        scores = tile.mma(queries, tile.load(k, (j, 0), (B, D)).T)
        scores = tile.where((columns <= rows) & (columns < k.shape[0]), scores, -1e30)
        new = tile.maximum(high, tile.max(scores, axis=1, keepdims=True))
        weights, scale = tile.exp(scores - new), tile.exp(high - new)
        total = total * scale + tile.sum(weights, axis=1, keepdims=True)
        acc = tile.mma(weights, tile.load(v, (j, 0), (B, D)), acc * scale)
        high = new
    tile.store(out, (i, 0), acc / total)


q, k, v = np.random.default_rng().random((3, 45, 8))
out = np.empty((45, 8), np.float32)
attention[3](q.astype(np.float32), k.astype(np.float32), v.astype(np.float32), out)
weights = np.tril(np.exp(q @ k.T))
np.testing.assert_allclose(out, weights @ v / weights.sum(1, keepdims=True), rtol=1e-4)
