"""SGEMM of threads: what tests of indices cost, and what tiles in shared memory and registers give, beside cuBLAS.

The naive forms, an element a thread: `tileopt` indexes plainly under a contract, `views` takes a row and a column,
`checked` indexes plainly without a contract, `unchecked` is its twin whose tests are dropped, and `CUDA C` is the same
loop without any tests, compiled by NVRTC. Then two with tiles: `sgemm_even`, and `sgemm_tiled` for any extents.

`python -m benchmarks.sgemm --sweep` times forms of `sgemm_even`: threads, tiles, steps at a time.
"""

# ruff: noqa: B023  (each set of lambdas runs before its loop goes on)
from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import Launch, Row, interleaved
from tileopt import TileoptError, simt

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "simt"))

from sgemm import sgemm, sgemm_checked, sgemm_unchecked, sgemm_views
from sgemm_even import REQUIRES, sgemm_even
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


@dataclass(frozen=True)
class Form:
    """A form of `sgemm_even`: warps along rows and columns, sums a thread, steps at a time; `blocks` shall fit on a
    multiprocessor; `ahead`: what is multiplied next is read before."""

    warps: tuple[int, int]
    sums: tuple[int, int]
    steps: int
    blocks: int
    ahead: int = 0

    @property
    def tile(self) -> tuple[int, int]:
        return 4 * self.sums[0] * self.warps[0], 8 * self.sums[1] * self.warps[1]

    @property
    def threads(self) -> int:
        return 32 * self.warps[0] * self.warps[1]

    def __str__(self) -> str:
        tile, sums = "x".join(map(str, self.tile)), "x".join(map(str, self.sums))
        ahead = ", ahead" * self.ahead
        return f"{tile}x{self.steps}, {sums} a thread, {self.threads} threads, {self.blocks} blocks{ahead}"


# The best of a sweep on one H200.
SMALL, MEDIUM, LARGE = Form((4, 2), (4, 8), 16, 2, 1), Form((2, 2), (16, 8), 8, 2, 1), Form((2, 2), (16, 8), 8, 2)
FORMS = (
    SMALL,
    MEDIUM,
    LARGE,
    Form((4, 2), (8, 8), 8, 2),
    Form((4, 2), (4, 8), 16, 2),
    Form((4, 2), (8, 8), 16, 2),
    Form((4, 2), (8, 16), 8, 1),
    Form((4, 2), (8, 16), 16, 1),
    Form((4, 2), (16, 8), 8, 1),
    Form((4, 1), (8, 16), 8, 2),
    Form((4, 1), (8, 16), 16, 2),
    Form((2, 2), (8, 8), 8, 4),
    Form((2, 2), (8, 8), 16, 4),
    Form((4, 2), (4, 8), 16, 3),
    Form((2, 1), (8, 8), 16, 4),
    Form((4, 2), (8, 8), 8, 2, 1),
    Form((4, 2), (8, 16), 8, 1, 1),
    Form((4, 2), (16, 8), 8, 1, 1),
    Form((4, 1), (8, 16), 8, 2, 1),
)


@cache
def even_kernel(threads: int, blocks: int) -> Any:
    """`sgemm_even` for other blocks than its own."""
    if (threads, blocks) == (256, 2):
        return sgemm_even
    options: dict[str, Any] = {"block": threads, "launch_bounds": (threads, blocks)}
    return simt.kernel(grid_rank=2, deny_checks=True, requires=REQUIRES, **options)(sgemm_even.function)


def even_launch(a: Tensor, b: Tensor, out: Tensor, form: Form) -> Launch:
    (rows, columns), (TM, TN), (WR, WC) = form.tile, form.sums, form.warps
    launcher = even_kernel(form.threads, form.blocks)[b.shape[1] // columns, len(a) // rows]
    return lambda: launcher(a, b, out, TM=TM, TN=TN, WR=WR, WC=WC, K=form.steps, AHEAD=form.ahead)


def best_form(n: int) -> Form:
    """The smaller tile where the larger ones would leave multiprocessors idle."""
    return SMALL if n < 2048 else MEDIUM if n < 8192 else LARGE


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
            outs["tiled"] = outs["views"]
            rivals = {
                "tileopt": even_launch(a, b, outs["tileopt"], best_form(n)),
                "tiled": lambda: sgemm_tiled[tiles](a, b, outs["tiled"]),
                "cuBLAS": cublas,
            }
            yield timed(Row(f"sgemm tiled {n}", "TFLOP/s"), 2.0 * n**3, rivals, outs, reference)
            del reference
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def sweep(sizes: list[int]) -> None:
    """Prints TFLOP/s of all forms at all sizes, of cuBLAS, and the worst error; a form that fails says how."""
    torch.backends.cuda.matmul.allow_tf32 = False
    for n in sizes:
        a, b = torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")
        reference, out, theirs = a.double() @ b.double(), torch.empty_like(a), torch.empty_like(a)
        rivals: dict[str, Launch] = {"cuBLAS": lambda: torch.mm(a, b, out=theirs)}
        errors = {"cuBLAS": 0.0}
        for form in FORMS:
            launch = even_launch(a, b, out, form)
            out.fill_(math.nan)
            try:
                launch()
                torch.cuda.synchronize()
            except TileoptError as error:
                print(f"{n}: {form}: {error}", flush=True)
                continue
            errors[str(form)] = error_of(out, reference)
            rivals[str(form)] = launch
        times = interleaved(rivals)
        for name, ms in sorted(times.items(), key=lambda item: item[1]):
            rate, ratio = 2.0 * n**3 / ms / 1e9, times["cuBLAS"] / ms
            print(f"{n}: {rate:6.1f} TFLOP/s, {ratio:.3f} of cuBLAS, error {errors[name]:.1e}: {name}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sgemm", description=__doc__)
    parser.add_argument("--sweep", action="store_true", required=True, help="time all forms of sgemm_even")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1024, 2048, 4096, 8192], help="multiples of 256")
    sweep(parser.parse_args().sizes)
