"""The Mandelbrot set: a thread a pixel, and each stops as soon as its point has escaped."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=(32, 4))
def mandelbrot(out: simt.DisjointSlice["i32", 2], left: simt.f64, top: simt.f64, step: simt.f64, limit: int):
    """out[i, j]: after how many steps the point (left + j * step, top + i * step) is outside radius 2."""
    i, j = simt.thread_index_2d()
    if i < len(out) and j < out.shape[1]:
        cr, ci = left + simt.f64(j) * step, top + simt.f64(i) * step
        zr, zi = simt.f64(0), simt.f64(0)
        count = 0
        for _ in range(limit):
            if zr * zr + zi * zi > 4.0:
                break
            zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
            count += 1
        out[i, j] = simt.i32(count)
