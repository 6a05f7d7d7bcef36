"""Products of weights of four bits and of scaled operands, beside the product of the wide ones."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

import tileopt
from benchmarks.measure import Launch, Row
from tileopt import tile

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from int4_weights import GROUP, linear, linear_turned

Finish = Callable[[Row, float, dict[str, Launch], torch.Tensor, torch.Tensor], Row]


@tile.kernel
def scaled(
    a: tile.In, a_scale: tile.In, b: tile.In, b_scale: tile.In, out: tile.Out, BM: tile.Const[int],
    BN: tile.Const[int], BK: tile.Const[int],
):  # fmt: skip
    """mxfp8: a of (M, K) by the transpose of b of (N, K), a scale for each 32."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        left, right = tile.load(a, (i, k), (BM, BK)), tile.load(b, (j, k), (BN, BK))
        left_scale = tile.load(a_scale, (i, k), (BM, BK // 32))
        right_scale = tile.load(b_scale, (j, k), (BN, BK // 32))
        acc = tile.mma_scaled(left, left_scale, right.T, right_scale.T, acc)
    tile.store(out, (i, j), acc.astype(out.dtype))


def weights(finish: Finish, quick: bool) -> Iterator[Row]:
    """`bf16` is cuBLAS on weights that were unpacked before: with few rows of x, reading a quarter should win."""
    n = k = 4096
    for m in (4096,) if quick else (4096, 512, 64):
        yield int4(finish, m, n, k)
    yield mxfp8(finish, n)


def int4(finish: Finish, m: int, n: int, k: int) -> Row:
    values = torch.randint(-8, 8, (n, k), device="cuda")
    w = ((values[:, 0::2] & 15) | (values[:, 1::2] & 15) << 4).to(torch.uint8)
    scales = torch.rand(n, k // GROUP, device="cuda").bfloat16()
    x = torch.randn(m, k, device="cuda").bfloat16()
    wide = values.bfloat16() * scales.repeat_interleave(GROUP, 1)
    out = torch.full((m, n), math.nan, dtype=torch.bfloat16, device="cuda")
    turned, theirs = torch.empty_like(out.t().contiguous()), torch.empty_like(out)
    rows = min(128, m)
    rivals: dict[str, Launch] = {
        "tileopt": lambda: linear[tileopt.cdiv(m, rows), n // 128](x, w, scales, out, rows, 128, 64),
        "on the left": lambda: linear_turned[n // 128, tileopt.cdiv(m, rows)](w, x, scales, turned, 128, rows, 64),
        "bf16": lambda: torch.mm(x, wide.t(), out=theirs),
    }
    return finish(
        Row(f"int4 weights {m}x{n}x{k}", "TFLOP/s"), 2.0 * m * n * k, rivals, out, x.double() @ wide.double().t()
    )


def mxfp8(finish: Finish, n: int) -> Row:
    a, b = (torch.randn(n, n, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    codes = [torch.randint(122, 133, (n, n // 32), device="cuda").to(torch.uint8) for _ in range(2)]
    left, right = (
        t.double() * torch.exp2(c.double() - 127).repeat_interleave(32, 1) for t, c in zip((a, b), codes, strict=True)
    )
    sa, sb = (c.view(torch.float8_e8m0fnu) for c in codes)
    out = torch.full((n, n), math.nan, dtype=torch.bfloat16, device="cuda")
    theirs, x, y = torch.empty_like(out), left.bfloat16(), right.bfloat16().t()
    grid = (tileopt.cdiv(n, 128), tileopt.cdiv(n, 128))
    rivals: dict[str, Launch] = {
        "tileopt": lambda: scaled[grid](a, sa, b, sb, out, 128, 128, 64),
        "bf16": lambda: torch.mm(x, y, out=theirs),
    }
    return finish(Row(f"mxfp8 product NT {n}", "TFLOP/s"), 2.0 * n**3, rivals, out, left @ right.t())
