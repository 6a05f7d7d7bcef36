"""The gradients of attention: P is made again from the forward's log-sum-exp, tile by tile, and never stored.

With S = scale * q @ k.T, P = softmax(S), O = P @ v and the output's gradient dO (FlashAttention-2, Dao 2023, 3.1):

    dv = P.T @ dO        dP = dO @ v.T        dS = P * (dP - delta), delta = rowsum(dO * O)
    dk = scale * dS.T @ q        dq = scale * dS @ k

Two kernels, no atomics, the same result in each run: one goes over the queries for each tile of keys, one over the keys
for each tile of queries. They make S and dP twice. `all_gradients` makes them once, and adds up dq by atomics, in an
order that differs from run to run. Everything is in base 2: `scale`, which is positive, includes log2(e), as in
attention.py.
"""

from __future__ import annotations

from tileopt import tile

LN2 = 0.6931471805599453


@tile.kernel
def row_products(out: tile.In, dout: tile.In, delta: tile.Out, BM: tile.Const[int] = 64, D: tile.Const[int] = 64):
    """delta = rowsum(dout * out); (heads, length), from (heads, length, D)."""
    i, head = tile.bid(0), tile.bid(1)
    a = tile.load(out, (head, i, 0), (1, BM, D)).astype(tile.f32)
    b = tile.load(dout, (head, i, 0), (1, BM, D)).astype(tile.f32)
    tile.store(delta, (head, i), tile.sum(a * b, axis=2))


@tile.kernel
def key_gradients(
    q: tile.In,
    k: tile.In,
    v: tile.In,
    dout: tile.In,
    lse: tile.In,
    delta: tile.In,
    dk: tile.Out,
    dv: tile.Out,
    scale: tile.f32,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    D: tile.Const[int] = 64,
    CAUSAL: tile.Const[bool] = False,
):
    """dk and dv of a tile of BN keys, over tiles of BM queries: the products make S.T, P.T and dS.T."""
    j, head = tile.bid(0), tile.bid(1)
    keys = tile.load(k, (head, j, 0), (1, BN, D)).reshape((BN, D))
    values = tile.load(v, (head, j, 0), (1, BN, D)).reshape((BN, D))
    rows = j * BN + tile.arange(BN)
    dkeys = tile.zeros((BN, D), tile.f32)
    dvalues = tile.zeros((BN, D), tile.f32)
    first = j * BN // BM if CAUSAL else 0
    for i in range(first, tile.cdiv(q.shape[1], BM)):
        queries = tile.load(q, (head, i, 0), (1, BM, D)).reshape((BM, D))
        sums = tile.load(lse, (head, i), (1, BM))
        douts = tile.load(dout, (head, i, 0), (1, BM, D)).reshape((BM, D))
        shifts = tile.load(delta, (head, i), (1, BM))
        # Behind the last query all is zero: its P is 1, and adds nothing.
        scores = tile.mma(keys, queries.T, tile.zeros((BN, BM), tile.f32))
        dweights = tile.mma(values, douts.T, tile.zeros((BN, BM), tile.f32))
        weights = tile.exp2(scores * scale - sums)
        if CAUSAL:
            columns = i * BM + tile.arange(BM)
            weights = tile.where(rows[:, None] <= columns[None, :], weights, 0.0)
        dvalues = tile.mma(weights.astype(q.dtype), douts, dvalues)
        dscores = weights * (dweights - shifts)
        dkeys = tile.mma(dscores.astype(q.dtype), queries, dkeys)
    tile.store(dk, (head, j, 0), (dkeys * (scale * LN2)).astype(dk.dtype).reshape((1, BN, D)))
    tile.store(dv, (head, j, 0), dvalues.astype(dv.dtype).reshape((1, BN, D)))


@tile.kernel
def query_gradients(
    q: tile.In,
    k: tile.In,
    v: tile.In,
    dout: tile.In,
    lse: tile.In,
    delta: tile.In,
    dq: tile.Out,
    scale: tile.f32,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    D: tile.Const[int] = 64,
    CAUSAL: tile.Const[bool] = False,
):
    """dq of a tile of BM queries, over tiles of BN keys."""
    i, head = tile.bid(0), tile.bid(1)
    length = k.shape[1]
    queries = tile.load(q, (head, i, 0), (1, BM, D)).reshape((BM, D))
    douts = tile.load(dout, (head, i, 0), (1, BM, D)).reshape((BM, D))
    sums = tile.load(lse, (head, i), (1, BM)).reshape((BM, 1))
    shifts = tile.load(delta, (head, i), (1, BM)).reshape((BM, 1))
    rows = i * BM + tile.arange(BM)
    dqueries = tile.zeros((BM, D), tile.f32)
    last = tile.cdiv(length, BN)
    if CAUSAL:
        last = min(last, tile.cdiv((i + 1) * BM, BN))
    for j in range(last):
        keys = tile.load(k, (head, j, 0), (1, BN, D)).reshape((BN, D))
        values = tile.load(v, (head, j, 0), (1, BN, D)).reshape((BN, D))
        scores = tile.mma(queries, keys.T, tile.zeros((BM, BN), tile.f32))
        dweights = tile.mma(douts, values.T, tile.zeros((BM, BN), tile.f32))
        weights = tile.exp2(scores * scale - sums)
        columns = j * BN + tile.arange(BN)
        weights = tile.where(columns[None, :] < length, weights, 0.0)
        if CAUSAL:
            weights = tile.where(columns[None, :] <= rows[:, None], weights, 0.0)
        dscores = weights * (dweights - shifts)
        dqueries = tile.mma(dscores.astype(q.dtype), keys, dqueries)
    tile.store(dq, (head, i, 0), (dqueries * (scale * LN2)).astype(dq.dtype).reshape((1, BM, D)))


@tile.kernel
def all_gradients(
    q: tile.In,
    k: tile.In,
    v: tile.In,
    dout: tile.In,
    lse: tile.In,
    delta: tile.In,
    dk: tile.Out,
    dv: tile.Out,
    parts: tile.Atomic,
    scale: tile.f32,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    D: tile.Const[int] = 64,
    CAUSAL: tile.Const[bool] = False,
):
    """`key_gradients`, and dq / scale added to `parts`, of (heads, D, length) in f32."""
    j, head = tile.bid(0), tile.bid(1)
    keys = tile.load(k, (head, j, 0), (1, BN, D)).reshape((BN, D))
    values = tile.load(v, (head, j, 0), (1, BN, D)).reshape((BN, D))
    rows = j * BN + tile.arange(BN)
    dkeys = tile.zeros((BN, D), tile.f32)
    dvalues = tile.zeros((BN, D), tile.f32)
    first = j * BN // BM if CAUSAL else 0
    for i in range(first, tile.cdiv(q.shape[1], BM)):
        queries = tile.load(q, (head, i, 0), (1, BM, D)).reshape((BM, D))
        sums = tile.load(lse, (head, i), (1, BM))
        douts = tile.load(dout, (head, i, 0), (1, BM, D)).reshape((BM, D))
        shifts = tile.load(delta, (head, i), (1, BM))
        scores = tile.mma(keys, queries.T, tile.zeros((BN, BM), tile.f32))
        dweights = tile.mma(values, douts.T, tile.zeros((BN, BM), tile.f32))
        weights = tile.exp2(scores * scale - sums)
        # Behind the last key all is zero, but not what the queries' sums make of it.
        weights = tile.where(rows[:, None] < k.shape[1], weights, 0.0)
        if CAUSAL:
            columns = i * BM + tile.arange(BM)
            weights = tile.where(rows[:, None] <= columns[None, :], weights, 0.0)
        dvalues = tile.mma(weights.astype(q.dtype), douts, dvalues)
        dscores = (weights * (dweights - shifts)).astype(q.dtype)
        dkeys = tile.mma(dscores, queries, dkeys)
        part = tile.mma(keys.T, dscores, tile.zeros((D, BM), tile.f32))
        tile.atomic_add(parts, (head, 0, i), part.reshape((1, D, BM)))
    tile.store(dk, (head, j, 0), (dkeys * (scale * LN2)).astype(dk.dtype).reshape((1, BN, D)))
    tile.store(dv, (head, j, 0), dvalues.astype(dv.dtype).reshape((1, BN, D)))


@tile.kernel
def from_parts(parts: tile.In, dq: tile.Out, scale: tile.f32, BM: tile.Const[int] = 64, D: tile.Const[int] = 64):
    """dq from its parts, which stand in columns."""
    i, head = tile.bid(0), tile.bid(1)
    sums = tile.load(parts, (head, 0, i), (1, D, BM)).reshape((D, BM))
    tile.store(dq, (head, i, 0), (sums.T * (scale * LN2)).astype(dq.dtype).reshape((1, BM, D)))


def attention_backward(
    q, k, v, out, dout, lse, delta, dq, dk, dv, scale: float, causal: bool = False, **launch
) -> None:
    """Fills dq, dk and dv, and on the way delta, of (heads, length) as lse. `launch`: a stream, a target."""
    heads, queries, d = q.shape
    keys = k.shape[1]
    row_products[tile.cdiv(queries, 64), heads](out, dout, delta, BM=64, D=d, **launch)
    given = (q, k, v, dout, lse, delta)
    key_gradients[tile.cdiv(keys, 128), heads](*given, dk, dv, scale, BM=64, BN=128, D=d, CAUSAL=causal, **launch)
    query_gradients[tile.cdiv(queries, 128), heads](*given, dq, scale, BM=128, BN=64, D=d, CAUSAL=causal, **launch)


def attention_backward_at_once(q, k, v, out, dout, lse, delta, dq, dk, dv, parts, scale, causal=False, **launch):
    """`attention_backward` by `all_gradients`; `parts` is zero before."""
    heads, queries, d = q.shape
    row_products[tile.cdiv(queries, 64), heads](out, dout, delta, BM=64, D=d, **launch)
    given, bn = (q, k, v, dout, lse, delta, dk, dv, parts), 128 if d >= 128 else 64
    all_gradients[tile.cdiv(k.shape[1], bn), heads](*given, scale, BM=64, BN=bn, D=d, CAUSAL=causal, **launch)
    from_parts[tile.cdiv(queries, 64), heads](parts, dq, scale, BM=64, D=d, **launch)


if __name__ == "__main__":
    import numpy as np
    from attention import attention_with_sums

    q, k, v, dout = np.random.default_rng(0).standard_normal((4, 2, 100, 64)).astype(np.float32)
    out, dq, dk, dv = (np.empty_like(q) for _ in range(4))
    lse, delta = (np.empty((2, 100), np.float32) for _ in range(2))
    scale = float(np.log2(np.e) / 8)
    attention_with_sums[2, 2](q, k, v, out, lse, scale)
    attention_backward(q, k, v, out, dout, lse, delta, dq, dk, dv, scale)
    weights = np.exp(q @ k.transpose(0, 2, 1) / 8)
    weights /= weights.sum(axis=2, keepdims=True)
    dweights = dout @ v.transpose(0, 2, 1)
    dscores = weights * (dweights - (weights * dweights).sum(axis=2, keepdims=True)) / 8
    np.testing.assert_allclose(dv, weights.transpose(0, 2, 1) @ dout, atol=1e-4)
    np.testing.assert_allclose(dk, dscores.transpose(0, 2, 1) @ q, atol=1e-4)
    np.testing.assert_allclose(dq, dscores @ k, atol=1e-4)
    print("attention_backward: gradients of 2 heads of 100 rows, as NumPy's")
