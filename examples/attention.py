"""Attention forward with an online softmax: two products and the reductions between them in one loop."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def attention(
    q: tile.In,
    k: tile.In,
    v: tile.In,
    out: tile.Out,
    scale: tile.f32,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    D: tile.Const[int] = 64,
    CAUSAL: tile.Const[bool] = False,
):
    """out = softmax(scale * q @ k.T) @ v for each head; all of (heads, length, D). `scale`, which is positive, includes
    log2(e)."""
    i, head = tile.bid(0), tile.bid(1)
    top, total, acc = attend(q, k, v, scale, BM, BN, D, CAUSAL)
    tile.store(out, (head, i, 0), (acc * (1.0 / total)[:, None]).astype(out.dtype).reshape((1, BM, D)))


@tile.kernel
def attention_with_sums(
    q: tile.In,
    k: tile.In,
    v: tile.In,
    out: tile.Out,
    lse: tile.Out,
    scale: tile.f32,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    D: tile.Const[int] = 64,
    CAUSAL: tile.Const[bool] = False,
):
    """`attention`, and lse = log2(sum of exp2(scale * q @ k.T)) of (heads, length), which gradients are made from."""
    i, head = tile.bid(0), tile.bid(1)
    top, total, acc = attend(q, k, v, scale, BM, BN, D, CAUSAL)
    tile.store(out, (head, i, 0), (acc * (1.0 / total)[:, None]).astype(out.dtype).reshape((1, BM, D)))
    tile.store(lse, (head, i), (top * scale + tile.log2(total)).reshape((1, BM)))


def attend(q, k, v, scale, BM, BN, D, CAUSAL):
    """For a tile of BM queries: the largest score of each row, the sum of its weights, and the weighted values."""
    i, head = tile.bid(0), tile.bid(1)
    length = k.shape[1]
    queries = tile.load(q, (head, i, 0), (1, BM, D)).reshape((BM, D))
    rows = i * BM + tile.arange(BM)
    top = tile.full((BM,), float("-inf"), tile.f32)
    total = tile.zeros((BM,), tile.f32)
    acc = tile.zeros((BM, D), tile.f32)
    last = tile.cdiv(length, BN)
    if CAUSAL:
        last = min(last, tile.cdiv((i + 1) * BM, BN))
    for j in range(last):
        keys = tile.load(k, (head, j, 0), (1, BN, D)).reshape((BN, D))
        scores = tile.mma(queries, keys.T, tile.zeros((BM, BN), tile.f32))
        columns = j * BN + tile.arange(BN)
        scores = tile.where(columns[None, :] < length, scores, float("-inf"))
        if CAUSAL:
            scores = tile.where(columns[None, :] <= rows[:, None], scores, float("-inf"))
        new_top = tile.maximum(top, tile.max(scores, axis=1))
        weights = tile.exp2(scores * scale - (new_top * scale)[:, None])
        fade = tile.exp2((top - new_top) * scale)
        total = total * fade + tile.sum(weights, axis=1)
        values = tile.load(v, (head, j, 0), (1, BN, D)).reshape((BN, D))
        acc = tile.mma(weights.astype(v.dtype), values, acc * fade[:, None])
        top = new_top
    return top, total, acc


if __name__ == "__main__":
    import numpy as np

    q, k, v = np.random.default_rng(0).standard_normal((3, 2, 100, 64)).astype(np.float32)
    out = np.empty_like(q)
    attention[(2, 2)](q, k, v, out, float(np.log2(np.e) / 8))
    weights = np.exp(q @ k.transpose(0, 2, 1) / 8)
    np.testing.assert_allclose(out, weights @ v / weights.sum(axis=2, keepdims=True), atol=1e-5)
    print("attention: 2 heads of 100 rows, as NumPy's")
