"""RMS norm of each row, a row a block: what lies outside the row reads as zero and adds nothing to the sum.

`rms_norm` holds a row in registers. `rms_norm_long` takes rows of any length, part by part, and reads them twice: the
second time from shared memory, where the compiler keeps as many parts as fit.
"""

from __future__ import annotations

from tileopt import tile


@tile.kernel
def rms_norm(x: tile.In, weight: tile.In, out: tile.Out, eps: tile.f32, COLUMNS: tile.Const[int] = 1024):
    """out[r] = x[r] * weight / sqrt(mean(x[r] ** 2) + eps); COLUMNS is at least the row's length."""
    row = tile.bid(0)
    values = tile.load(x, (row, 0), (1, COLUMNS)).astype(tile.f32)
    mean = tile.sum(values * values, axis=1, keepdims=True) / x.shape[1].astype(tile.f32)
    weights = tile.load(weight, (0,), (COLUMNS,)).astype(tile.f32)
    tile.store(out, (row, 0), (values * tile.rsqrt(mean + eps) * weights[None, :]).astype(out.dtype))


@tile.kernel(num_warps=32, num_stages=2)
def rms_norm_long(x: tile.In, weight: tile.In, out: tile.Out, eps: tile.f32, COLUMNS: tile.Const[int] = 8192):
    """out[r] = x[r] * weight / sqrt(mean(x[r] ** 2) + eps), COLUMNS elements at a time."""
    row = tile.bid(0)
    parts = tile.cdiv(x.shape[1], COLUMNS)
    squares = tile.zeros((1, COLUMNS), tile.f32)
    for part in range(parts):
        values = tile.load(x, (row, part), (1, COLUMNS)).astype(tile.f32)
        squares = squares + values * values
    scale = tile.rsqrt(tile.sum(squares, axis=1, keepdims=True) / x.shape[1].astype(tile.f32) + eps)
    for back in range(parts):
        part = parts - 1 - back  # what was read last is still near
        values = tile.load(x, (row, part), (1, COLUMNS)).astype(tile.f32)
        weights = tile.load(weight, (part,), (COLUMNS,)).astype(tile.f32)
        tile.store(out, (row, part), (values * scale * weights[None, :]).astype(out.dtype))


if __name__ == "__main__":
    import numpy as np

    x, weight = np.random.default_rng(0).standard_normal((50, 700)).astype(np.float32), np.ones(700, np.float32)
    out = np.empty_like(x)
    rms_norm[(50,)](x, weight, out, 1e-6)
    reference = x / np.sqrt((x.astype(np.float64) ** 2).mean(axis=1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(out, reference, rtol=1e-5)
    out[:] = np.nan
    rms_norm_long[(50,)](x, weight, out, 1e-6, COLUMNS=256)
    np.testing.assert_allclose(out, reference, rtol=1e-5)
    print("rms_norm: 50 rows of 700, as NumPy's")
