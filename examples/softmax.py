"""Softmax of each row, a row a block: loads outside the row read as -inf and vanish in the sum.

`softmax` holds a row in registers. `softmax_long` takes rows of any length, part by part: it reads a row twice. The
compiler keeps parts in shared memory for the second time; what does not fit there comes from the L2 cache.
"""

from __future__ import annotations

from tileopt import tile

LOG2E = 1.4426950408889634  # exp(x) = exp2(x * LOG2E), and exp2 is an instruction of GPUs


@tile.kernel
def softmax(x: tile.In, out: tile.Out, COLUMNS: tile.Const[int] = 1024):
    """out[r] = exp(x[r]) / sum(exp(x[r])); COLUMNS is at least the row's length."""
    row = tile.bid(0)
    values = tile.load(x, (row, 0), (1, COLUMNS), padding="-inf").astype(tile.f32)
    shifted = tile.exp2((values - tile.max(values, axis=1, keepdims=True)) * LOG2E)
    scale = 1.0 / tile.sum(shifted, axis=1, keepdims=True)
    tile.store(out, (row, 0), (shifted * scale).astype(out.dtype))


@tile.kernel(num_warps=32, num_stages=2)
def softmax_long(x: tile.In, out: tile.Out, COLUMNS: tile.Const[int] = 8192):
    """out[r] = exp(x[r]) / sum(exp(x[r])), COLUMNS elements at a time; each position keeps its own greatest and sum."""
    row = tile.bid(0)
    parts = tile.cdiv(x.shape[1], COLUMNS)
    top = tile.full((1, COLUMNS), -3.0e38, tile.f32)  # finite: -inf less -inf is NaN
    total = tile.zeros((1, COLUMNS), tile.f32)
    for part in range(parts):
        values = tile.load(x, (row, part), (1, COLUMNS), padding="-inf").astype(tile.f32)
        ratio = tile.exp2(-abs(top - values) * LOG2E)  # of the smaller exponential to the greater one
        total = tile.where(values > top, total * ratio + 1.0, total + ratio)
        top = tile.maximum(top, values)
    most = tile.max(top, axis=1, keepdims=True)
    scale = 1.0 / tile.sum(total * tile.exp2((top - most) * LOG2E), axis=1, keepdims=True)
    for back in range(parts):
        part = parts - 1 - back  # what was read last is still near
        values = tile.load(x, (row, part), (1, COLUMNS), padding="-inf").astype(tile.f32)
        tile.store(out, (row, part), (tile.exp2((values - most) * LOG2E) * scale).astype(out.dtype))


if __name__ == "__main__":
    import numpy as np

    x = np.random.default_rng(0).random((50, 700), np.float32)
    out = np.empty_like(x)
    softmax[(50,)](x, out)
    np.testing.assert_allclose(out, np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), rtol=1e-5)
    out[:] = np.nan
    softmax_long[(50,)](x, out, COLUMNS=256)
    np.testing.assert_allclose(out, np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), rtol=1e-5)
    print("softmax: 50 rows of 700, as NumPy's")
