"""Matrix product: the compiler chooses the instruction, the layouts, shared memory and the pipeline."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def matmul(
    a: tile.In,
    b: tile.In,
    out: tile.Out,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    BK: tile.Const[int] = 32,
):
    """out = a @ b, a of MxK, b of KxN, accumulated in f32."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
    tile.store(out, (i, j), acc.astype(out.dtype))


if __name__ == "__main__":
    import numpy as np

    a, b = np.random.default_rng(0).random((2, 150, 150), np.float32)
    out = np.empty_like(a)
    matmul[(3, 3)](a, b, out)
    np.testing.assert_allclose(out, a @ b, rtol=1e-5)
    print("matmul: a product of 150x150, as NumPy's")
