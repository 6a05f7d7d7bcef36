"""SGEMM of threads: what tests of indices cost, and what tiles in shared memory and registers give, beside cuBLAS.

The naive forms, an element a thread: `tileopt` indexes plainly under a contract, `views` takes a row and a column,
`no contract` indexes plainly without one (its launches prove what the contract would say), `unchecked` is its twin
whose tests are dropped, `checked` the one that keeps all tests, and `CUDA C` is the same loop without any tests,
compiled by NVRTC. The first four run in turn, launch by launch. Then two with tiles: one of `sgemm_even` and
`sgemm_ring` in the form that is the fastest of those that the rule of `sgemm_forms` likes best, and `sgemm_tiled` for
any extents.

`python -m benchmarks.sgemm --sweep` times all forms.
"""

# ruff: noqa: B023  (each set of lambdas runs before its loop goes on)
from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import Launch, Row, interleaved
from benchmarks.sgemm_forms import (
    FORMS,
    LARGE,
    MEDIUM,
    SIZES,
    SMALL,
    Form,
    best_forms,
    compile_forms,
    kernel,
)
from tileopt import TileoptError, simt

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "simt"))

from sgemm import sgemm, sgemm_checked, sgemm_tested, sgemm_unchecked, sgemm_views
from sgemm_tiled import sgemm_tiled

Tensor = torch.Tensor
TRIED = 6  # forms that the rule likes best, of which the fastest is taken
LEAST_TURNS = 5

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


def tiled_launch(a: Tensor, b: Tensor, out: Tensor, form: Form) -> Launch:
    launcher, constants = kernel(form)[form.grid(len(a), b.shape[1])], form.constants
    return lambda: launcher(a, b, out, **constants)


def tuned(a: Tensor, b: Tensor, out: Tensor, multiprocessors: int) -> Launch:
    """The fastest of the forms that the rule of `sgemm_forms` likes best and of one that was measured before."""
    n = len(a)
    known = SMALL if n < 2048 else MEDIUM if n < 8192 else LARGE
    forms = dict.fromkeys([*best_forms(n, multiprocessors, TRIED), known])
    rivals = {str(form): tiled_launch(a, b, out, form) for form in forms}
    times = interleaved(rivals, rounds=2, budget_ms=20.0)
    best = min(times, key=times.__getitem__)
    print(f"sgemm tiled {n}: {best} (of {len(rivals)})", flush=True)
    return rivals[best]


def alternated(rivals: dict[str, Launch], seconds: float = 1.5) -> dict[str, float]:
    """Milliseconds a launch by rival: medians of launches in turn, so that what the card does meanwhile, its clock and
    its heat, is the same for all. It tells apart what `interleaved` cannot: some tenths of a percent."""
    found: dict[str, list[float]] = {name: [] for name in rivals}
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(found[next(iter(found))]) < LEAST_TURNS:
        for name, launch in rivals.items():
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            launch()
            end.record()
            end.synchronize()
            found[name].append(start.elapsed_time(end))
    return {name: statistics.median(values) for name, values in found.items()}


def error_of(out: Tensor, reference: Tensor) -> float:
    difference = (out.double() - reference).norm() / reference.norm()
    return float(difference) if bool(torch.isfinite(difference)) else math.inf


def timed(
    row: Row,
    work: float,
    rivals: dict[str, Launch],
    outs: dict[str, Tensor],
    reference: Tensor,
    close: Sequence[str] = (),
) -> Row:
    """Checks every form, then times all; the row's error is that of the worst.

    `close`: rivals whose rates are told from that of the first of them by launches in turn.
    """
    for name, launch in rivals.items():
        outs[name].fill_(math.nan)
        launch()
        row.error = max(row.error, error_of(outs[name], reference))
    for name, ms in interleaved(rivals).items():
        row.rates[name] = work / ms / 1e9
    if close:
        times = alternated({name: rivals[name] for name in close})
        for name in close[1:]:
            row.rates[name] = row.rates[close[0]] * times[close[0]] / times[name]
    return row


def sgemms(quick: bool) -> Iterator[Row]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    naive_c = cuda_c()
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
    sizes = [1024, 4096] if quick else SIZES
    liked = [form for n in sizes for form in best_forms(n, multiprocessors, TRIED)]
    compile_forms([*liked, SMALL, MEDIUM, LARGE], target())
    try:
        for n in sizes:
            a, b = torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")
            reference = a.double() @ b.double()
            grid = (simt.cdiv(n, 32), simt.cdiv(n, 8))
            names = ["tileopt", "views", "no contract", "unchecked", "checked", "CUDA C", "cuBLAS"]
            outs = {name: torch.empty_like(a) for name in names}
            cublas: Launch = lambda: torch.mm(a, b, out=outs["cuBLAS"])  # noqa: E731
            rivals: dict[str, Launch] = {
                "tileopt": lambda: sgemm[grid](a, b, outs["tileopt"]),
                "views": lambda: sgemm_views[grid](a, b, outs["views"]),
                "no contract": lambda: sgemm_checked[grid](a, b, outs["no contract"]),
                "unchecked": lambda: sgemm_unchecked[grid](a, b, outs["unchecked"]),
                "checked": lambda: sgemm_tested[grid](a, b, outs["checked"]),
            }
            if naive_c is not None:
                launch_c = naive_c
                rivals["CUDA C"] = lambda: launch_c((*grid, 1), (32, 8, 1), (a, b, outs["CUDA C"], n))
            rivals["cuBLAS"] = cublas
            naive = Row(f"sgemm naive {n}", "TFLOP/s")
            yield timed(naive, 2.0 * n**3, rivals, outs, reference, ("tileopt", "views", "no contract", "unchecked"))
            tiles = (simt.cdiv(n, 128), simt.cdiv(n, 128))
            outs["tiled"] = outs["views"]
            rivals = {
                "tileopt": tuned(a, b, outs["tileopt"], multiprocessors),
                "tiled": lambda: sgemm_tiled[tiles](a, b, outs["tiled"]),
                "cuBLAS": cublas,
            }
            yield timed(Row(f"sgemm tiled {n}", "TFLOP/s"), 2.0 * n**3, rivals, outs, reference)
            del reference
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def target() -> str:
    """The name of this GPU's target."""
    from tileopt.backends.nvidia import driver
    from tileopt.backends.runtime import defaults

    return defaults.for_device(driver.device(torch.cuda.current_device()).arch).name


def sweep(sizes: list[int]) -> None:
    """Prints TFLOP/s of all forms at all sizes, of cuBLAS, and the worst error; a form that fails says how."""
    torch.backends.cuda.matmul.allow_tf32 = False
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
    compile_forms(FORMS, target())
    for n in sizes:
        a, b = torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")
        reference, out, theirs = a.double() @ b.double(), torch.empty_like(a), torch.empty_like(a)
        rivals: dict[str, Launch] = {"cuBLAS": lambda: torch.mm(a, b, out=theirs)}
        errors, liked = {"cuBLAS": 0.0}, [str(form) for form in best_forms(n, multiprocessors, len(FORMS))]
        for form in FORMS:
            if not form.fits(n):
                continue
            launch = tiled_launch(a, b, out, form)
            out.fill_(math.nan)
            try:
                launch()
                torch.cuda.synchronize()
            except TileoptError as error:
                print(f"{n}: {form}: {error}", flush=True)
                continue
            errors[str(form)] = error_of(out, reference)
            rivals[str(form)] = launch
        times = interleaved(rivals, budget_ms=40.0)
        for name, ms in sorted(times.items(), key=lambda item: item[1]):
            rate, ratio = 2.0 * n**3 / ms / 1e9, times["cuBLAS"] / ms
            place = f"the rule's {liked.index(name) + 1}" if name in liked else "a peer"
            line = f"{n}: {rate:6.1f} TFLOP/s, {ratio:.3f} of cuBLAS, error {errors[name]:.1e}: {name}, {place}"
            print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sgemm", description=__doc__)
    parser.add_argument("--sweep", action="store_true", required=True, help="time all forms of the tiled kernels")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="multiples of 256")
    sweep(parser.parse_args().sizes)
