"""Nearest neighbour: squared distances by a matrix product, the row's minimum carried along the reference points."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def nearest(
    points: tile.In,
    references: tile.In,
    norms: tile.In,
    index: tile.Out,
    BM: tile.Const[int] = 64,
    BN: tile.Const[int] = 64,
    D: tile.Const[int] = 64,
):
    """index[p] = the reference nearest to points[p], the first of equals. `norms`: squared lengths of the references.

    The points' own lengths are left out: they do not change which reference is nearest.
    """
    i = tile.bid(0)
    mine = tile.load(points, (i, 0), (BM, D))
    best = tile.full((BM,), float("inf"), tile.f32)
    found = tile.zeros((BM,), tile.i64)
    for j in range(tile.cdiv(references.shape[0], BN)):
        others = tile.load(references, (j, 0), (BN, D))
        lengths = tile.load(norms, (j,), (BN,), padding="inf")
        distance = lengths[None, :] - 2.0 * tile.mma(mine, others.T, tile.zeros((BM, BN), tile.f32))
        smallest = tile.min(distance, axis=1)
        columns = (j * BN + tile.arange(BN))[None, :]
        first = tile.min(tile.where(distance == smallest[:, None], columns, 1 << 40), axis=1)
        found = tile.where(smallest < best, first, found)
        best = tile.minimum(best, smallest)
    tile.store(index, (i,), found)


if __name__ == "__main__":
    import numpy as np

    points, references = np.random.default_rng(0).integers(0, 9, (2, 100, 64)).astype(np.float32)
    index = np.empty(100, np.int64)
    nearest[(2,)](points, references, (references**2).sum(axis=1), index)
    distance = ((points[:, None] - references[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(index, distance.argmin(axis=1))
    print("nearest: 100 points among 100, as NumPy finds them")
