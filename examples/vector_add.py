"""Vector addition: the smallest tile kernel."""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def vector_add(x: tile.In, y: tile.In, out: tile.Out, BLOCK: tile.Const[int] = 1024):
    """out = x + y; all of one length, of any element type."""
    i = tile.bid(0)
    a = tile.load(x, (i,), (BLOCK,))
    b = tile.load(y, (i,), (BLOCK,))
    tile.store(out, (i,), a + b)


if __name__ == "__main__":
    import numpy as np

    x, y = np.random.default_rng(0).random((2, 3000), np.float32)
    out = np.empty_like(x)
    vector_add[(3,)](x, y, out)
    np.testing.assert_array_equal(out, x + y)
    print("vector_add: 3000 sums, equal to NumPy's")
