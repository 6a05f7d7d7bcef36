"""Choices of schedule side by side, which only a GPU can judge: attention with heads of 64, and products of all tiles.

`python -m benchmarks --gpu --only attention-sweep` and `--only tiles`: a minute or two each, best first.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table
from torch.nn.attention import SDPBackend, sdpa_kernel

import tileopt
from benchmarks.measure import Launch, interleaved

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from attention import attention
from matmul import matmul

Tensor = torch.Tensor
# Rows of queries and of keys in a tile, and hints; None is the compiler's own choice.
FORMS: tuple[tuple[int, int, dict[str, Any]], ...] = (
    (128, 128, {}),
    *(
        (128, 128, {"exp2_eighths": eighths, "late_waits": late})
        for late in (False, True)
        for eighths in (0, 1, 2, 3, 4)
    ),
    *((128, 128, {"exp2_eighths": eighths, "late_waits": True, "fast_math": True}) for eighths in (2, 3, 4)),
    *((128, 128, {"late_waits": True, "num_stages": stages}) for stages in (2, 3)),
    *(
        (128, 128, {"exp2_eighths": eighths, "late_waits": late, "take_turns": True})
        for late in (False, True)
        for eighths in (0, 1, 2)
    ),
    (128, 64, {}),
    (128, 96, {}),
    (128, 192, {}),
    *((128, 192, {"exp2_eighths": eighths, "late_waits": False}) for eighths in (1, 2)),
    *((128, 192, {"exp2_eighths": eighths, "take_turns": True}) for eighths in (0, 1, 2)),
    (128, 64, {"take_turns": True}),
    (64, 64, {}),
    (64, 128, {}),
    (64, 128, {"exp2_eighths": 2, "late_waits": True}),
)
TILES = (
    (64, 64, 64), (64, 128, 64), (128, 64, 64), (64, 256, 64), (128, 128, 64), (128, 192, 64), (256, 64, 64),
    (128, 256, 64), (256, 128, 64), (64, 64, 32), (64, 64, 128),
)  # fmt: skip


def attention_sweep(console: Console) -> None:
    """Heads of 64 and 8192 keys, each form beside cuDNN in one run."""
    length, heads, d = 8192, 32, 64
    scale = math.log2(math.e) / math.sqrt(d)
    for causal in (False, True):
        q, k, v = (torch.randn(1, heads, length, d, device="cuda").bfloat16() for _ in range(3))
        out = torch.empty_like(q)
        flat = [t.view(heads, length, d) for t in (q, k, v, out)]
        wanted = F.scaled_dot_product_attention(
            q[:, :1].double(), k[:, :1].double(), v[:, :1].double(), is_causal=causal
        )

        def cudnn(q: Tensor = q, k: Tensor = k, v: Tensor = v, causal: bool = causal) -> Tensor:
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

        def ours(bm: int, bn: int, hints: dict[str, Any], flat: list[Tensor] = flat, causal: bool = causal) -> Launch:
            kernel = attention.with_hints(**hints)
            return lambda: kernel[(length // bm, heads)](*flat, scale, BM=bm, BN=bn, D=d, CAUSAL=causal)

        forms = {f"{bm}x{bn} {_said(hints)}": ours(bm, bn, hints) for bm, bn, hints in FORMS}
        work = 4.0 * heads * length**2 * d * (0.5 if causal else 1.0)
        _compare(console, f"attention d64 8192{' causal' if causal else ''}", work, forms, "cuDNN", cudnn, out, wanted)


def tiles(console: Console, n: int = 4096) -> None:
    """One product by tiles of many sizes, without hints: the last column is the share of the best."""
    a, b = (torch.randn(n, n, device="cuda").bfloat16() for _ in range(2))
    out, theirs = torch.empty_like(a), torch.empty_like(a)

    def ours(bm: int, bn: int, bk: int) -> Launch:
        grid = (tileopt.cdiv(n, bm), tileopt.cdiv(n, bn))
        return lambda: matmul[grid](a, b, out, BM=bm, BN=bn, BK=bk)

    forms = {"x".join(map(str, tile)): ours(*tile) for tile in TILES}
    wanted = a[:1024].double() @ b.double()
    cublas: Launch = lambda: torch.mm(a, b, out=theirs)  # noqa: E731
    _compare(console, f"product {n}", 2.0 * n**3, forms, "cuBLAS", cublas, out[:1024], wanted)


def _compare(
    console: Console,
    title: str,
    work: float,
    forms: dict[str, Launch],
    peer: str,
    theirs: Launch,
    out: Tensor,
    wanted: Tensor,
) -> None:
    """Prints rates of all forms that run, best first, with the ratio to the peer and to the best."""
    errors = dict(_tried(forms, console, out, wanted))
    running = {name: launch for name, launch in forms.items() if name in errors}
    times = interleaved({peer: theirs, **running}, budget_ms=20.0)
    rates = {name: work / ms / 1e9 for name, ms in times.items()}
    best = max(rates[name] for name in running)
    table = Table("form", "TFLOP/s", f"to {peer}", "to the best", "error", title=title)
    for name in sorted(rates, key=lambda name: -rates[name]):
        shares = (f"{rates[name] / rates[peer]:.3f}", f"{rates[name] / best:.3f}")
        table.add_row(name, f"{rates[name]:.0f}", *shares, f"{errors[name]:.1e}" if name in errors else "")
    console.print(table)


def _tried(
    forms: dict[str, Callable[[], object]], console: Console, out: Tensor, wanted: Tensor
) -> Iterator[tuple[str, float]]:
    """The forms that compile and run, each with its error."""
    for name, launch in forms.items():
        out.fill_(math.nan)
        try:
            launch()
            torch.cuda.synchronize()
        except tileopt.TileoptError as error:
            console.print(f"{name}: {error}", markup=False)
            continue
        found = out[:, : wanted.shape[1]] if out.dim() == 4 else out
        yield name, float((found.double() - wanted).norm() / wanted.norm())


def _said(hints: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in hints.items()) or "no hints"


SWEEPS: dict[str, Callable[[Console], None]] = {"attention-sweep": attention_sweep, "tiles": tiles}
