"""SGEMM of threads: what tests of indices cost, and what tiles in shared memory and registers give, beside cuBLAS.

The naive forms, an element a thread: `tileopt` indexes plainly under a contract, `views` takes a row and a column,
`checked` indexes plainly without a contract, `unchecked` is its twin whose tests are dropped, and `CUDA C` is the same
loop without any tests, compiled by NVRTC.
"""

# ruff: noqa: B023  (each set of lambdas runs before its loop goes on)
from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import Launch, Row, interleaved
from tileopt import simt

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "simt"))

from sgemm import sgemm, sgemm_checked, sgemm_unchecked, sgemm_views
from sgemm_tiled import sgemm_tiled

Tensor = torch.Tensor

CUDA_C = """
extern "C" __global__ void __launch_bounds__(256) sgemm(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n)
{
    long i = blockIdx.y * 8L + threadIdx.y, j = blockIdx.x * 32L + threadIdx.x, width = n;
    if (i < width && j < width) {
        float total = 0.0f;
        for (long k = 0; k < width; ++k) total += a[i * width + k] * b[k * width + j];
        c[i * width + j] = total;
    }
}
"""


def cuda_c() -> Callable[..., Any] | None:
    """The loop in CUDA C; None where this PyTorch cannot compile it."""
    compile_ = getattr(torch.cuda, "_compile_kernel", None)
    return None if compile_ is None else compile_(CUDA_C, "sgemm")


def error_of(out: Tensor, reference: Tensor) -> float:
    difference = (out.double() - reference).norm() / reference.norm()
    return float(difference) if bool(torch.isfinite(difference)) else math.inf


def timed(row: Row, work: float, rivals: dict[str, Launch], outs: dict[str, Tensor], reference: Tensor) -> Row:
    """Checks every form, then times all; the row's error is that of the worst."""
    for name, launch in rivals.items():
        outs[name].fill_(math.nan)
        launch()
        row.error = max(row.error, error_of(outs[name], reference))
    for name, ms in interleaved(rivals).items():
        row.rates[name] = work / ms / 1e9
    return row


def sgemms(quick: bool) -> Iterator[Row]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    naive_c = cuda_c()
    try:
        for n in (1024, 4096) if quick else (1024, 2048, 4096, 8192):
            a, b = torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")
            reference = a.double() @ b.double()
            grid = (simt.cdiv(n, 32), simt.cdiv(n, 8))
            names = ["tileopt", "views", "checked", "unchecked", "CUDA C", "cuBLAS"]
            outs = {name: torch.empty_like(a) for name in names}
            cublas: Launch = lambda: torch.mm(a, b, out=outs["cuBLAS"])  # noqa: E731
            rivals: dict[str, Launch] = {
                "tileopt": lambda: sgemm[grid](a, b, outs["tileopt"]),
                "views": lambda: sgemm_views[grid](a, b, outs["views"]),
                "checked": lambda: sgemm_checked[grid](a, b, outs["checked"]),
                "unchecked": lambda: sgemm_unchecked[grid](a, b, outs["unchecked"]),
            }
            if naive_c is not None:
                launch_c = naive_c
                rivals["CUDA C"] = lambda: launch_c((*grid, 1), (32, 8, 1), (a, b, outs["CUDA C"], n))
            rivals["cuBLAS"] = cublas
            yield timed(Row(f"sgemm naive {n}", "TFLOP/s"), 2.0 * n**3, rivals, outs, reference)
            tiles = (simt.cdiv(n, 128), simt.cdiv(n, 128))
            rivals = {
                "tileopt": lambda: sgemm_tiled[tiles](a, b, outs["tileopt"], T=8, K=16),
                "K=8": lambda: sgemm_tiled[tiles](a, b, outs["views"], T=8, K=8),
                "cuBLAS": cublas,
            }
            outs["K=8"] = outs["views"]
            yield timed(Row(f"sgemm tiled {n}", "TFLOP/s"), 2.0 * n**3, rivals, outs, reference)
            del reference
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
