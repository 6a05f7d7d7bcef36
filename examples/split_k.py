"""Split-k product: blocks along the third axis of the grid share a tile of the result and add their parts to it.

Where the result is small and K is long, there are more blocks than tiles of the result.
"""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def split_k(
    a: tile.In, b: tile.In, c: tile.Atomic, M: tile.Const[int] = 32, N: tile.Const[int] = 32, K: tile.Const[int] = 32
):
    """c += a @ b; the grid is (rows of tiles, columns of tiles, parts of K)."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((M, N), tile.f32)
    for k in range(tile.bid(2), tile.cdiv(a.shape[1], K), tile.num_blocks(2)):
        acc = tile.mma(tile.load(a, (i, k), (M, K)), tile.load(b, (k, j), (K, N)), acc)
    tile.atomic_add(c, (i, j), acc)


if __name__ == "__main__":
    import numpy as np

    random = np.random.default_rng(0)
    a, b = random.random((50, 2000), np.float32), random.random((2000, 40), np.float32)
    c = np.zeros((50, 40), np.float32)
    split_k[2, 2, 8](a, b, c)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-5)
    print("split_k: 50 x 2000 by 2000 x 40 in 8 parts, as NumPy's")
