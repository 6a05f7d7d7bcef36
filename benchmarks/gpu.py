"""Speed on a GPU, ours and the peers in one run: copy, add, softmax, matrix product, attention, SGEMM of threads.

`python -m benchmarks --gpu [--quick]` prints rates and ratios; the errors are against PyTorch in float64.
"""

# ruff: noqa: B023  (each set of lambdas runs before its loop goes on)
from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table
from torch.nn.attention import SDPBackend, sdpa_kernel

import tileopt
from benchmarks import triton_kernels
from benchmarks.attention_backward import attention_gradients
from benchmarks.few_rows import products_of_few_rows
from benchmarks.measure import Launch, Row, interleaved
from benchmarks.rows import sweep
from benchmarks.sgemm import sgemms
from benchmarks.sweeps import SWEEPS
from benchmarks.variants import variants
from benchmarks.weights import weights
from tileopt import tile

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from attention import attention
from matmul import matmul
from rms_norm import rms_norm, rms_norm_long
from softmax import softmax, softmax_long
from vector_add import vector_add

Tensor = torch.Tensor


@tile.kernel
def copy(x: tile.In, out: tile.Out, BLOCK: tile.Const[int] = 1024):
    i = tile.bid(0)
    tile.store(out, (i,), tile.load(x, (i,), (BLOCK,)))


@tile.kernel
def int_matmul(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.i32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
    tile.store(out, (i, j), acc)


@tile.kernel
def wide_matmul(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), out.dtype)
    for k in range(tile.cdiv(a.shape[1], BK)):
        left, right = tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN))
        acc = tile.mma(left, right, acc, precision="tf32" if out.dtype == tile.f32 else None)
    tile.store(out, (i, j), acc)


wide_matmul_16_warps = tile.kernel(num_warps=16)(wide_matmul.function)


def error_of(out: Tensor, reference: Tensor) -> float:
    difference = (out.double() - reference.double()).norm() / reference.double().norm()
    return float(difference) if bool(torch.isfinite(difference)) else math.inf


def fresh(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, device="cuda").to(dtype)


def poisoned(like: Tensor) -> Tensor:
    return torch.full_like(like, float("nan"))


def finish(row: Row, amount: float, rivals: dict[str, Launch], out: Tensor, reference: Tensor) -> Row:
    """Checks ours, then times all. `amount`: bytes or operations of one launch; rates are in units of 1e12 a second."""
    rivals["tileopt"]()
    torch.cuda.synchronize()
    row.error = error_of(out, reference)
    for name, ms in interleaved(rivals).items():
        row.rates[name] = amount / ms / 1e9
    return row


def elementwise() -> Iterator[Row]:
    n = 1 << 28
    for dtype in (torch.float32, torch.bfloat16):
        size = dtype.itemsize
        x, y = fresh(n, dtype=dtype), fresh(n, dtype=dtype)
        out, theirs, third = poisoned(x), torch.empty_like(x), torch.empty_like(x)
        block = 16 * 128 // size * 2
        rivals: dict[str, Launch] = {
            "tileopt": lambda: copy[(n // block,)](x, out, BLOCK=block),
            "torch": lambda: theirs.copy_(x),
        }
        yield finish(Row(f"copy {str(dtype)[6:]}", "TB/s"), 2 * n * size, rivals, out, x)
        rivals = {
            "tileopt": lambda: vector_add[(n // block,)](x, y, out, BLOCK=block),
            "torch": lambda: torch.add(x, y, out=theirs),
            "triton": lambda: triton_kernels.add[(n // 1024,)](x, y, third, n, BLOCK=1024),
        }
        yield finish(Row(f"add {str(dtype)[6:]}", "TB/s"), 3 * n * size, rivals, out, x + y)
    n = (1 << 26) + 3
    x, y = fresh(n + 1)[1:], fresh(n + 1)[1:]
    out, theirs = poisoned(x), torch.empty(n, device="cuda")
    rivals = {
        "tileopt": lambda: vector_add[(tileopt.cdiv(n, 1024),)](x, y, out),
        "torch": lambda: torch.add(x, y, out=theirs),
    }
    yield finish(Row("add float32, unaligned", "TB/s"), 3 * n * 4, rivals, out, x + y)


def rows() -> Iterator[Row]:
    for columns in (1024, 4096, 8192, 12345, 65536):
        count = (1 << 28) // columns
        x = fresh(count, columns)
        out, theirs, third = poisoned(x), torch.empty_like(x), torch.empty_like(x)
        width, power = -(-columns // 512) * 512, 1 << (columns - 1).bit_length()
        warps = max(4, min(16, power // 1024))
        rivals: dict[str, Launch] = {
            # A row of 65536 is more than the registers of a block hold.
            "tileopt": lambda: softmax_long[(count,)](x, out) if width > 32768 else softmax[(count,)](x, out, width),
            "copy": lambda: theirs.copy_(x),
            "torch": lambda: torch.softmax(x, -1, out=theirs),
            "triton": lambda: triton_kernels.softmax[(count,)](
                x, third, columns, x.stride(0), BLOCK=power, num_warps=warps
            ),
        }
        reference = torch.softmax(x.double(), -1)
        yield finish(Row(f"softmax {count}x{columns}", "TB/s"), 2 * x.numel() * 4, rivals, out, reference)
        del reference
        weight = fresh(columns)
        rivals = {
            "tileopt": lambda: (
                rms_norm_long[(count,)](x, weight, out, 1e-6)
                if width > 32768
                else rms_norm[(count,)](x, weight, out, 1e-6, width)
            ),
            "copy": lambda: theirs.copy_(x),
            "torch": lambda: F.rms_norm(x, (columns,), weight, 1e-6),
        }
        wide = x.double()
        reference = wide * weight.double() * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + 1e-6)
        del wide
        yield finish(Row(f"RMS norm {count}x{columns}", "TB/s"), 2 * x.numel() * 4, rivals, out, reference)
        del reference


SQUARES = tuple((n, n, n) for n in (2048, 4096, 8192, 16384))
PRODUCTS = (*SQUARES, (4096, 14336, 4096), (8192, 1024, 8192))


def products(quick: bool) -> Iterator[Row]:
    for m, n, k in SQUARES[:2] if quick else PRODUCTS:
        for form in ("NN", "NT"):
            yield product(torch.bfloat16, form, m, n, k)
    for m, n, k in () if quick else SQUARES[1:3]:
        for form in ("NN", "NT"):
            yield product(torch.float16, form, m, n, k)


def others(quick: bool) -> Iterator[Row]:
    """Products of other forms and shapes: both operands transposed, few rows, odd sizes."""
    for form in ("TN", "TT"):
        yield product(torch.bfloat16, form, 4096, 4096, 4096)
    yield from products_of_few_rows(finish)
    for n in (512, 1024):
        yield product(torch.bfloat16, "NN", n, n, n, (64, 64 * n // 512, 64))
    for m, n, k in ((4095, 4095, 4095), (4097, 4097, 4097), (1000, 3000, 5000)):
        yield product(torch.bfloat16, "NN", m, n, k)


def product(dtype: torch.dtype, form: str, m: int, n: int, k: int, tiles: tuple[int, int, int] = (128, 256, 64)) -> Row:
    """`form`: N for an operand that lies row by row, T for one that is transposed."""
    a = fresh(k, m, dtype=dtype).t() if form[0] == "T" else fresh(m, k, dtype=dtype)
    b = fresh(n, k, dtype=dtype).t() if form[1] == "T" else fresh(k, n, dtype=dtype)
    out = torch.full((m, n), math.nan, device="cuda", dtype=dtype)
    theirs, third = torch.empty_like(out), torch.empty_like(out)
    bm, bn, bk = tiles
    grid = (tileopt.cdiv(m, bm), tileopt.cdiv(n, bn))
    rivals: dict[str, Launch] = {
        "tileopt": lambda: matmul[grid](a, b, out, BM=bm, BN=bn, BK=bk),
        "cuBLAS": lambda: torch.mm(a, b, out=theirs),
    }
    if m in (4096, 8192) and m == n == k:
        fourth = torch.empty_like(out)
        rivals["clusters"] = lambda: CLUSTERED[grid](a, b, fourth, BM=bm, BN=bn, BK=bk)
    if m == n == k and m % 256 == 0 and form[0] == "N":
        rivals["triton"] = lambda: triton_kernels.matmul[(n // 128 * (n // 256),)](
            a, b, third, n, n, n, a.stride(0), a.stride(1), b.stride(0), b.stride(1), n,
            BM=128, BN=256, BK=64, GROUP=8, num_warps=8, num_stages=3,
        )  # fmt: skip
    rows = slice(0, min(m, 2048))  # a float64 product of all would take most of the time
    reference = a[rows].double() @ b.double()
    size = f"{m}" if m == n == k else f"{m}x{n}x{k}"
    return finish(
        Row(f"{NAMES[dtype]} product {form} {size}", "TFLOP/s"), 2.0 * m * n * k, rivals, out[rows], reference
    )


CLUSTERED = matmul.with_hints(num_ctas=2)
NAMES = {torch.bfloat16: "bf16", torch.float16: "f16"}


def types(quick: bool) -> Iterator[Row]:
    """Products of other types, operands in the order that their units read: b stored as (N, K)."""
    bm, bn, bk = 128, 256, 128
    for n in (4096,) if quick else (4096, 8192):
        grid = (tileopt.cdiv(n, bm), tileopt.cdiv(n, bn))
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            a, b = fresh(n, n, dtype=dtype), fresh(n, n, dtype=dtype).t()
            other = torch.empty((n, n), dtype=torch.bfloat16, device="cuda")
            out, one = torch.full((n, n), math.nan, dtype=torch.bfloat16, device="cuda"), torch.ones((), device="cuda")
            # cuBLAS multiplies no two matrices of e5m2: b is of e4m3 for it.
            right = fresh(n, n, dtype=torch.float8_e4m3fn).t()
            rivals: dict[str, Launch] = {
                "tileopt": lambda: matmul[grid](a, b, out, BM=bm, BN=bn, BK=bk),
                "cuBLAS": lambda: torch._scaled_mm(a, right, one, one, out_dtype=torch.bfloat16, use_fast_accum=True),
            }
            reference = a.double() @ b.double()
            yield finish(Row(f"{str(dtype)[6:]} product NT {n}", "TFLOP/s"), 2.0 * n**3, rivals, out, reference)
            # cuBLAS has none with N side by side: its rate is that of NT.
            beside = fresh(n, n, dtype=dtype)
            tall = (tileopt.cdiv(n, bn), tileopt.cdiv(n, bm))
            rivals["tileopt"] = lambda: matmul[tall](a, beside, out, BM=bn, BN=bm, BK=bk)
            rivals["128x256"] = lambda: matmul[grid](a, beside, other, BM=bm, BN=bn, BK=bk)
            out.fill_(math.nan)
            reference = a.double() @ beside.double()
            yield finish(Row(f"{str(dtype)[6:]} product NN {n}", "TFLOP/s"), 2.0 * n**3, rivals, out, reference)
        x, y = (torch.randint(-128, 128, (n, n), device="cuda").to(torch.int8) for _ in range(2))
        y = y.t()
        total, theirs = (torch.full((n, n), 77, dtype=torch.int32, device="cuda") for _ in range(2))
        rivals = {
            "tileopt": lambda: int_matmul[grid](x, y, total, BM=bm, BN=bn, BK=bk),
            "cuBLAS": lambda: torch._int_mm(x, y, out=theirs),
        }
        yield finish(Row(f"int8 product NT {n}", "TOP/s"), 2.0 * n**3, rivals, total, x.double() @ y.double())
        z, tall = torch.randint(-128, 128, (n, n), device="cuda").to(torch.int8), (grid[0] // 2, grid[1] * 2)
        rivals["tileopt"] = lambda: int_matmul[tall](x, z, total, BM=bn, BN=bm, BK=bk)
        rivals["cuBLAS"] = lambda: torch._int_mm(x, z, out=theirs)
        total.fill_(77)
        yield finish(Row(f"int8 product NN {n}", "TOP/s"), 2.0 * n**3, rivals, total, x.double() @ z.double())
        for form in ("NN", "NT"):
            yield wide(torch.float32, form, n, (128, 256, 32) if form == "NT" else (256, 128, 32))
            yield wide(torch.float64, form, n, (128, 128, 32))


def wide(dtype: torch.dtype, form: str, n: int, tiles: tuple[int, int, int]) -> Row:
    """f64, and f32 read as tf32."""
    a, b = fresh(n, n, dtype=dtype), fresh(n, n, dtype=dtype)
    b = b.t() if form == "NT" else b
    out, theirs = poisoned(a), torch.empty_like(a)
    grid = (tileopt.cdiv(n, tiles[0]), tileopt.cdiv(n, tiles[1]))
    torch.backends.cuda.matmul.allow_tf32 = True
    rivals: dict[str, Launch] = {
        "tileopt": lambda: wide_matmul[grid](a, b, out, *tiles),
        "cuBLAS": lambda: torch.mm(a, b, out=theirs),
    }
    if dtype is torch.float32 and form == "NN":
        spare = torch.empty_like(a)
        wide_grid = (tileopt.cdiv(n, 128), tileopt.cdiv(n, 256))
        rivals["128x256"] = lambda: wide_matmul[wide_grid](a, b, spare, 128, 256, 32)
    if dtype is torch.float64:  # other forms of ours: half as deep, and with half the share of a warp
        other = torch.empty_like(a)
        rivals["16 deep"] = lambda: wide_matmul[grid](a, b, other, *tiles[:2], 16)
        rivals["16 warps"] = lambda: wide_matmul_16_warps[grid](a, b, other, *tiles[:2], 16)
    rows = slice(0, 1024)
    try:
        name = "tf32" if dtype is torch.float32 else "f64"
        reference = a[rows].double() @ b.double()
        return finish(Row(f"{name} product {form} {n}", "TFLOP/s"), 2.0 * n**3, rivals, out[rows], reference)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def attentions(quick: bool) -> Iterator[Row]:
    sizes = [(4096, 128)] if quick else [(length, d) for d in (128, 64) for length in (4096, 8192, 16384)]
    for length, d in sizes:
        for causal in (False, True):
            heads = 64 * 4096 // length
            q, k, v = (fresh(1, heads, length, d, dtype=torch.bfloat16) for _ in range(3))
            out, third = poisoned(q), torch.empty_like(q)
            scale = math.log2(math.e) / math.sqrt(d)
            flat = [t.view(heads, length, d) for t in (q, k, v, out)]

            def cudnn(q: Tensor = q, k: Tensor = k, v: Tensor = v, causal: bool = causal) -> Tensor:
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

            rivals: dict[str, Launch] = {
                "tileopt": lambda: attention[(length // 128, heads)](*flat, scale, BM=128, BN=128, D=d, CAUSAL=causal),
                "cuDNN": cudnn,
                "triton": lambda: triton_kernels.attention[(length // 128, heads)](
                    q, k, v, third, length, scale, D=d, BM=128, BN=64, CAUSAL=causal, num_warps=8, num_stages=3
                ),
            }
            reference = F.scaled_dot_product_attention(
                q[:, :2].double(), k[:, :2].double(), v[:, :2].double(), is_causal=causal
            )
            work = 4.0 * heads * length**2 * d * (0.5 if causal else 1.0)
            name = f"attention d{d} {length}{' causal' if causal else ''}"
            yield finish(Row(name, "TFLOP/s"), work, rivals, out[:, :2], reference)


def without_wgmma() -> Iterator[Row]:
    """The same kernels as sm_80 has them (`mma.sync`, `cp.async`), beside the code for this GPU."""
    n, (bm, bn, bk) = 4096, (128, 256, 64)
    a, b = fresh(n, n, dtype=torch.bfloat16), fresh(n, n, dtype=torch.bfloat16)
    out, theirs = poisoned(a), torch.empty_like(a)
    grid = (n // bm, n // bn)
    rivals: dict[str, Launch] = {
        "tileopt": lambda: matmul[grid](a, b, out, bm, bn, bk, target="sm_90"),
        "wgmma": lambda: matmul[grid](a, b, theirs, bm, bn, bk),
    }
    yield finish(Row(f"bf16 product NN {n}, mma.sync", "TFLOP/s"), 2.0 * n**3, rivals, out, a.double() @ b.double())
    length, heads = 4096, 64
    for d in (128, 64):
        q, k, v = (fresh(heads, length, d, dtype=torch.bfloat16) for _ in range(3))
        out, theirs = poisoned(q), torch.empty_like(q)
        scale, blocks = math.log2(math.e) / math.sqrt(d), (length // 128, heads)
        rivals = {
            "tileopt": lambda: attention[blocks](q, k, v, out, scale, BM=128, BN=128, D=d, target="sm_90"),
            "keys by 64": lambda: attention[blocks](q, k, v, theirs, scale, BM=128, BN=64, D=d, target="sm_90"),
            "wgmma": lambda: attention[blocks](q, k, v, theirs, scale, BM=128, BN=128, D=d),
        }
        reference = F.scaled_dot_product_attention(q[:2].double(), k[:2].double(), v[:2].double())
        work = 4.0 * heads * length**2 * d
        yield finish(Row(f"attention d{d} {length}, mma.sync", "TFLOP/s"), work, rivals, out[:2], reference)


@tile.kernel
def nothing_3(a: tile.In, b: tile.In, out: tile.Out):
    pass


@tile.kernel
def nothing_19(
    a: tile.In, b: tile.In, c: tile.In, d: tile.In, e: tile.In, f: tile.In, g: tile.In, h: tile.In, i: tile.In,
    j: tile.In, k: tile.In, m: tile.In, n: tile.In, o: tile.In, p: tile.In, q: tile.In, r: tile.In, s: tile.In,
    out: tile.Out,
):  # fmt: skip
    pass


def launches(console: Console) -> None:
    """Microseconds that a launch keeps the host: empty kernels beside PyTorch's smallest addition and Triton's."""
    small = [torch.zeros(16, device="cuda") for _ in range(19)]
    rivals: dict[str, Launch] = {
        "tileopt, 3 arguments": lambda: nothing_3[1](*small[:3]),
        "tileopt, 19 arguments": lambda: nothing_19[1](*small),
        "torch.add": lambda: torch.add(small[0], small[1], out=small[2]),
        "triton, 4 arguments": lambda: triton_kernels.add[(1,)](small[0], small[1], small[2], 16, BLOCK=16),
    }
    table = Table("launch", "us")
    for name, launch in rivals.items():
        launch()
        torch.cuda.synchronize()
        best = math.inf
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(200):
                launch()
            best = min(best, (time.perf_counter() - start) / 200 * 1e6)
            torch.cuda.synchronize()
        table.add_row(name, f"{best:.2f}")
    console.print(table)


def show(rows_: list[Row], console: Console) -> None:
    table = Table("work", "unit", "tileopt", "peers", "ratio to each", "error")
    for row in rows_:
        digits = 2 if row.unit == "TB/s" else 1 if max(row.rates.values()) < 100 else 0
        peers = {name: rate for name, rate in row.rates.items() if name != "tileopt"}
        table.add_row(
            row.work,
            row.unit,
            f"{row.rates['tileopt']:.{digits}f}",
            ", ".join(f"{name} {rate:.{digits}f}" for name, rate in peers.items()),
            ", ".join(f"{row.ratio(name):.3f}" for name in peers),
            f"{row.error:.1e}",
        )
    console.print(table)


def main(quick: bool = False, only: str = "") -> None:
    console = Console(width=150)
    console.print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "elementwise": elementwise,
        "rows": rows,
        "products": lambda: products(quick),
        "others": lambda: others(quick),
        "variants": lambda: variants(finish),
        "types": lambda: types(quick),
        "weights": lambda: weights(finish, quick),
        "attention": lambda: attentions(quick),
        "attention-backward": lambda: attention_gradients(finish, quick),
        "mma.sync": without_wgmma,
        "sgemm": lambda: sgemms(quick),
    }
    sweeps: dict[str, Callable[[], Iterator[Row]]] = {"rows-sweep": sweep}  # only where they are asked for by name
    parts = {name: part for name, part in parts.items() if any(word in name for word in only.split(","))}
    parts |= {name: part for name, part in sweeps.items() if name in only.split(",")}
    if any(word in "launch" for word in only.split(",")):
        launches(console)
    for word in only.split(","):
        if word in SWEEPS:  # only where it is asked for by its whole name
            SWEEPS[word](console)
    done: list[Row] = []
    for name, part in parts.items():
        try:
            for row in part():
                done.append(row)
                torch.cuda.empty_cache()
        except Exception as error:  # one part's failure must not cost the others their figures
            console.print(f"{name}: {type(error).__name__}: {error}", markup=False)
    if done:
        show(done, console)
