"""Windows that overlap are read from one array and written to another."""

from __future__ import annotations

import numpy as np

from tileopt import tile


@tile.kernel
def smooth(x: tile.In, out: tile.Out):
    begin = tile.bid(0) * 64
    around = tile.load_at(x, begin - 1, 64) + tile.load_at(x, begin, 64) + tile.load_at(x, begin + 1, 64)
    tile.store_at(out, begin, around)


x = np.random.default_rng().random(200).astype(np.float32)
out = np.empty_like(x)
smooth[4](x, out)
padded = np.pad(x, 1)
np.testing.assert_allclose(out, padded[:-2] + padded[1:-1] + padded[2:], rtol=1e-6)
