"""Products with a scale for each block of elements."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def scaled_nt(
    a: tile.In, a_scale: tile.In, b: tile.In, b_scale: tile.In, out: tile.Out, BLOCK: tile.Const[int],
    BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int],
):  # fmt: skip
    """a of (M, K) by the transpose of b of (N, K); scales of (M, K / BLOCK) and (N, K / BLOCK). Operands in bytes hold
    two values of f4e2m1fn each."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a_scale.shape[1] * BLOCK, BK)):
        if a.dtype == tile.u8:
            left = tile.unpack(tile.load(a, (i, k), (BM, BK // 2)), tile.f4e2m1fn)
        else:
            left = tile.load(a, (i, k), (BM, BK))
        if b.dtype == tile.u8:
            right = tile.unpack(tile.load(b, (j, k), (BN, BK // 2)), tile.f4e2m1fn)
        else:
            right = tile.load(b, (j, k), (BN, BK))
        a_scales = tile.load(a_scale, (i, k), (BM, BK // BLOCK))
        b_scales = tile.load(b_scale, (j, k), (BN, BK // BLOCK))
        acc = tile.mma_scaled(left, a_scales, right.T, b_scales.T, acc)
    tile.store(out, (i, j), acc)
