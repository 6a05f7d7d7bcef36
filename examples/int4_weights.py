"""A linear layer whose weights have four bits, two in a byte, and a scale for each 128 along K.

Run it: `python examples/int4_weights.py`. The weights are read and unpacked in the loop, on their way to the product.
"""

from __future__ import annotations

import numpy as np

from tileopt import tile

GROUP = 128


@tile.kernel
def linear(
    x: tile.In, w: tile.In, scales: tile.In, out: tile.Out, BM: tile.Const[int] = 128, BN: tile.Const[int] = 128,
    BK: tile.Const[int] = 64,
):  # fmt: skip
    """out = x @ W.T: x of (M, K), w of (N, K / 2) bytes, scales of (N, K / 128)."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(x.shape[1], BK)):
        right = tile.unpack(tile.load(w, (j, k), (BN, BK // 2)), tile.i4)
        right = right * tile.load(scales, (j, k * BK // 128), (BN, 1))
        acc = tile.mma(tile.load(x, (i, k), (BM, BK)), right.T, acc)
    tile.store(out, (i, j), acc.astype(out.dtype))


@tile.kernel
def linear_turned(
    w: tile.In, x: tile.In, scales: tile.In, out: tile.Out, BM: tile.Const[int] = 128, BN: tile.Const[int] = 128,
    BK: tile.Const[int] = 64,
):  # fmt: skip
    """The same, weights on the left: out of (N, M) = W @ x.T. On sm_90a they then go to the unit in registers."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(x.shape[1], BK)):
        left = tile.unpack(tile.load(w, (i, k), (BM, BK // 2)), tile.i4)
        left = left * tile.load(scales, (i, k * BK // 128), (BM, 1))
        acc = tile.mma(left, tile.load(x, (j, k), (BN, BK)).T, acc)
    tile.store(out, (i, j), acc.astype(out.dtype))


def pack(values: np.ndarray) -> np.ndarray:
    """Integers from -8 to 7 of (N, K) as bytes of (N, K / 2), the first of two in the low four bits."""
    low, high = values[:, 0::2] & 15, values[:, 1::2] & 15
    return (low | high << 4).astype(np.uint8)


def main() -> None:
    rng = np.random.default_rng()
    m, n, k = 100, 200, 384
    values = rng.integers(-8, 8, (n, k))
    x, scales = rng.standard_normal((m, k)).astype(np.float16), rng.random((n, k // GROUP)).astype(np.float16)
    out = np.empty((m, n), np.float32)
    linear[tile.cdiv(m, 128), tile.cdiv(n, 128)](x, pack(values), scales, out)
    rounded = (values.astype(np.float16) * np.repeat(scales, GROUP, 1)).astype(np.float64)
    error = np.abs(out - x.astype(np.float64) @ rounded.T).max()
    print(f"int4_weights: {m}x{n}x{k}, largest error {error:.1e}")
    assert error < 1e-3


if __name__ == "__main__":
    main()
