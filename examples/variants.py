"""Products in other company: nothing in the compiler knows these kernels. They should be as fast as the plain ones."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def prologue(
    a: tile.In,
    b: tile.In,
    out: tile.Out,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    BK: tile.Const[int] = 64,
):
    """out = relu(a) @ b."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        left = tile.maximum(tile.load(a, (i, k), (BM, BK)), 0.0)
        acc = tile.mma(left.astype(a.dtype), tile.load(b, (k, j), (BK, BN)), acc)
    tile.store(out, (i, j), acc.astype(out.dtype))


@tile.kernel
def gated(
    a: tile.In,
    b: tile.In,
    gate: tile.In,
    out: tile.Out,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    BK: tile.Const[int] = 64,
):
    """out = (a @ b) * sigmoid(a @ gate): two products share their left operand."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    opening = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        left = tile.load(a, (i, k), (BM, BK))
        acc = tile.mma(left, tile.load(b, (k, j), (BK, BN)), acc)
        opening = tile.mma(left, tile.load(gate, (k, j), (BK, BN)), opening)
    tile.store(out, (i, j), (acc / (1.0 + tile.exp(-opening))).astype(out.dtype))


@tile.kernel(fast_math=True)
def with_bias_and_gelu(
    a: tile.In,
    b: tile.In,
    bias: tile.In,
    out: tile.Out,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    BK: tile.Const[int] = 64,
):
    """out = gelu(a @ b + bias), by the hardware's tanh, within 2**-11."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
    x = acc + tile.load(bias, (j,), (BN,)).astype(tile.f32)[None, :]
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    tile.store(out, (i, j), (x * (0.5 + 0.5 * tile.tanh(inner))).astype(out.dtype))


@tile.kernel
def while_product(
    a: tile.In,
    b: tile.In,
    out: tile.Out,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    BK: tile.Const[int] = 64,
):
    """out = a @ b, with a loop whose end is not known before."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    k = 0
    while k * BK < a.shape[1]:
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
        k = k + 1
    tile.store(out, (i, j), acc.astype(out.dtype))


@tile.kernel
def three_products(
    q: tile.In, k: tile.In, v: tile.In, w: tile.In, out: tile.Out, BM: tile.Const[int] = 64, BN: tile.Const[int] = 64
):
    """out = sum over blocks of rows of k, v, w of ((q @ k.T) @ v) @ w, each a chain of three; all of 64 columns."""
    i = tile.bid(0)
    left = tile.load(q, (i, 0), (BM, 64))
    acc = tile.zeros((BM, 64), tile.f32)
    for j in range(tile.cdiv(k.shape[0], BN)):
        first = tile.mma(left, tile.load(k, (j, 0), (BN, 64)).T, tile.zeros((BM, BN), tile.f32))
        second = tile.mma(first.astype(q.dtype), tile.load(v, (j, 0), (BN, 64)), tile.zeros((BM, 64), tile.f32))
        acc = tile.mma(second.astype(q.dtype), tile.load(w, (j, 0), (64, 64)), acc)
    tile.store(out, (i, 0), acc.astype(out.dtype))


@tile.kernel(fast_math=True)
def capped_attention(
    q: tile.In,
    k: tile.In,
    v: tile.In,
    out: tile.Out,
    scale: tile.f32,
    cap: tile.f32,
    window: int,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    D: tile.Const[int] = 64,
):
    """Attention whose scores are capped, cap * tanh(score / cap), and see `window` columns back; (heads, length, D).

    `scale` includes no log2(e): the cap is in natural units. The hardware's tanh is within 2**-11.
    """
    i, head = tile.bid(0), tile.bid(1)
    queries = tile.load(q, (head, i, 0), (1, BM, D)).reshape((BM, D))
    rows = i * BM + tile.arange(BM)
    top = tile.full((BM,), -3.0e38, tile.f32)
    total = tile.zeros((BM,), tile.f32)
    acc = tile.zeros((BM, D), tile.f32)
    first = tile.maximum(i * BM - window + 1, 0) // BN
    for j in range(first, tile.cdiv(min((i + 1) * BM, k.shape[1]), BN)):
        keys = tile.load(k, (head, j, 0), (1, BN, D)).reshape((BN, D))
        scores = tile.mma(queries, keys.T, tile.zeros((BM, BN), tile.f32)) * scale
        scores = tile.tanh(scores * (1.0 / cap)) * (cap * 1.442695041)
        columns = j * BN + tile.arange(BN)
        seen = (columns[None, :] <= rows[:, None]) & (columns[None, :] > rows[:, None] - window)
        scores = tile.where(seen, scores, float("-inf"))
        new_top = tile.maximum(top, tile.max(scores, axis=1))
        weights = tile.exp2(scores - new_top[:, None])
        fade = tile.exp2(top - new_top)
        total = total * fade + tile.sum(weights, axis=1)
        values = tile.load(v, (head, j, 0), (1, BN, D)).reshape((BN, D))
        acc = tile.mma(weights.astype(v.dtype), values, acc * fade[:, None])
        top = new_top
    tile.store(out, (head, i, 0), (acc * (1.0 / total)[:, None]).astype(out.dtype).reshape((1, BM, D)))


@tile.kernel
def biased_attention(
    q: tile.In,
    k: tile.In,
    v: tile.In,
    bias: tile.In,
    out: tile.Out,
    scale: tile.f32,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    D: tile.Const[int] = 64,
):
    """softmax(q @ k.T / sqrt(D) + bias) @ v; bias of (heads, queries, keys). `scale`: log2(e) / sqrt(D)."""
    i, head = tile.bid(0), tile.bid(1)
    queries = tile.load(q, (head, i, 0), (1, BM, D)).reshape((BM, D))
    top = tile.full((BM,), float("-inf"), tile.f32)
    total = tile.zeros((BM,), tile.f32)
    acc = tile.zeros((BM, D), tile.f32)
    for j in range(tile.cdiv(k.shape[1], BN)):
        keys = tile.load(k, (head, j, 0), (1, BN, D)).reshape((BN, D))
        added = tile.load(bias, (head, i, j), (1, BM, BN)).reshape((BM, BN)).astype(tile.f32)
        scores = tile.mma(queries, keys.T, tile.zeros((BM, BN), tile.f32)) * scale + added * 1.442695041
        columns = j * BN + tile.arange(BN)
        scores = tile.where(columns[None, :] < k.shape[1], scores, float("-inf"))
        new_top = tile.maximum(top, tile.max(scores, axis=1))
        weights = tile.exp2(scores - new_top[:, None])
        fade = tile.exp2(top - new_top)
        total = total * fade + tile.sum(weights, axis=1)
        values = tile.load(v, (head, j, 0), (1, BN, D)).reshape((BN, D))
        acc = tile.mma(weights.astype(v.dtype), values, acc * fade[:, None])
        top = new_top
    tile.store(out, (head, i, 0), (acc * (1.0 / total)[:, None]).astype(out.dtype).reshape((1, BM, D)))


@tile.kernel
def windowed_attention(
    q: tile.In,
    k: tile.In,
    v: tile.In,
    out: tile.Out,
    scale: tile.f32,
    window: int,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    D: tile.Const[int] = 64,
):
    """Causal attention in which a query sees `window` keys, its own among them; (heads, length, D). `scale`, which is
    positive, includes log2(e)."""
    i, head = tile.bid(0), tile.bid(1)
    queries = tile.load(q, (head, i, 0), (1, BM, D)).reshape((BM, D))
    rows = i * BM + tile.arange(BM)
    top = tile.full((BM,), -3.0e38, tile.f32)
    total = tile.zeros((BM,), tile.f32)
    acc = tile.zeros((BM, D), tile.f32)
    first = tile.maximum(i * BM - window + 1, 0) // BN
    for j in range(first, tile.cdiv(min((i + 1) * BM, k.shape[1]), BN)):
        keys = tile.load(k, (head, j, 0), (1, BN, D)).reshape((BN, D))
        scores = tile.mma(queries, keys.T, tile.zeros((BM, BN), tile.f32))
        columns = j * BN + tile.arange(BN)
        scores = tile.where(columns[None, :] > rows[:, None] - window, scores, float("-inf"))
        scores = tile.where(columns[None, :] <= rows[:, None], scores, float("-inf"))
        new_top = tile.maximum(top, tile.max(scores, axis=1))
        weights = tile.exp2(scores * scale - (new_top * scale)[:, None])
        fade = tile.exp2((top - new_top) * scale)
        total = total * fade + tile.sum(weights, axis=1)
        values = tile.load(v, (head, j, 0), (1, BN, D)).reshape((BN, D))
        acc = tile.mma(weights.astype(v.dtype), values, acc * fade[:, None])
        top = new_top
    tile.store(out, (head, i, 0), (acc * (1.0 / total)[:, None]).astype(out.dtype).reshape((1, BM, D)))


if __name__ == "__main__":
    import numpy as np

    a, b = np.random.default_rng(0).standard_normal((2, 150, 150)).astype(np.float32)
    out = np.empty_like(a)
    prologue[(3, 3)](a, b, out)
    np.testing.assert_allclose(out, np.maximum(a, 0) @ b, rtol=1e-4, atol=1e-4)
    print("prologue: a product of 150x150 with a rectified operand, as NumPy's")
