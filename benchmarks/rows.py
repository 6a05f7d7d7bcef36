"""Other forms of the row kernels, side by side: how parts, warps, stages and registers should be chosen.

`python -m benchmarks --gpu --only rows-sweep`: long rows (65536) and rows that are not aligned (12345). Each form is
checked against PyTorch in float64 before it is timed.
"""

# ruff: noqa: B023  (each set of lambdas runs before its loop goes on)
from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import Launch, Row, interleaved
from tileopt import tile

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from rms_norm import rms_norm, rms_norm_long
from softmax import LOG2E, softmax, softmax_long

MOST_ERROR = 1e-5


def two_passes(x: Any, out: Any, columns: int, backwards: bool, hints: bool) -> None:
    """What `softmax_long` does, with the second pass in either direction, and with hints for caches or without."""
    row = tile.bid(0)
    parts = tile.cdiv(x.shape[1], columns)
    top = tile.full((1, columns), -3.0e38, tile.f32)
    total = tile.zeros((1, columns), tile.f32)
    for part in range(parts):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        values = tile.load(x, (row, part), (1, columns), padding="-inf", cache="keep" if hints else None)
        ratio = tile.exp2(-abs(top - values) * LOG2E)
        total = tile.where(values > top, total * ratio + 1.0, total + ratio)
        top = tile.maximum(top, values)
    most = tile.max(top, axis=1, keepdims=True)
    scale = 1.0 / tile.sum(total * tile.exp2((top - most) * LOG2E), axis=1, keepdims=True)
    for step in range(parts):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        part = parts - 1 - step if backwards else step
        values = tile.load(x, (row, part), (1, columns), padding="-inf", cache="streaming" if hints else None)
        done = tile.exp2((values - most) * LOG2E) * scale
        tile.store(out, (row, part), done, cache="streaming" if hints else None)


@tile.kernel(num_warps=32, num_stages=2)
def softmax_forward(x: tile.In, out: tile.Out):
    """Reads from the first part on both times."""
    two_passes(x, out, 8192, False, False)


@tile.kernel(num_warps=32, num_stages=2)
def softmax_hinted(x: tile.In, out: tile.Out):
    """Tells caches what is read again, and what is not."""
    two_passes(x, out, 8192, True, True)


@tile.kernel(num_warps=32)
def softmax_from_memory(x: tile.InOut, out: tile.Out):
    """Of an array that might be written, so that nothing is kept in shared memory: L2 alone is left."""
    two_passes(x, out, 8192, True, False)


@tile.kernel(num_warps=32)
def softmax_from_memory_hinted(x: tile.InOut, out: tile.Out):
    """The same with hints."""
    two_passes(x, out, 8192, True, True)


# Name, columns of a tile, hints: the first of each list is what `--only rows` measures.
LONG: list[tuple[str, int, dict[str, Any]]] = [
    ("tileopt", 8192, {}),
    ("not ahead", 8192, {"num_stages": 1}),
    ("two ahead", 8192, {"num_stages": 3}),
    ("4096", 4096, {}),
    ("4096, two ahead", 4096, {"num_stages": 3}),
    ("16384, not ahead", 16384, {"num_stages": 1}),
    ("16384", 16384, {}),
    ("16 warps", 8192, {"num_warps": 16}),
    ("16 warps, 4096, 2 blocks", 4096, {"num_warps": 16, "occupancy": 2}),
]
UNALIGNED: list[tuple[str, int, dict[str, Any]]] = [
    ("tileopt", 12800, {}),
    ("one by one", 12345, {}),
    ("free registers", 12800, {"occupancy": 1}),
    ("3 blocks", 12800, {"occupancy": 3}),
    ("8 warps", 12800, {"num_warps": 8}),
    ("32 warps", 12800, {"num_warps": 32}),
]


def sweep() -> Iterator[Row]:
    """Softmax and RMS norm of long and of unaligned rows."""
    for columns, forms in ((65536, LONG), (12345, UNALIGNED)):
        count = (1 << 28) // columns
        x = torch.randn(count, columns, device="cuda")
        weight, out = torch.randn(columns, device="cuda"), torch.empty_like(x)
        soft, norm = (softmax_long, rms_norm_long) if columns > 32768 else (softmax, rms_norm)
        # Kernels are made here: what a launch does on the host would be timed with it.
        softs = [(name, width, soft.with_hints(**hints)) for name, width, hints in forms]
        norms = [(name, width, norm.with_hints(**hints)) for name, width, hints in forms]
        launches: dict[str, Launch] = {
            name: lambda width=width, kernel=kernel: kernel[(count,)](x, out, width) for name, width, kernel in softs
        }
        if columns > 32768:
            launches["forward"] = lambda: softmax_forward[(count,)](x, out)
            launches["hinted"] = lambda: softmax_hinted[(count,)](x, out)
            launches["from memory"] = lambda: softmax_from_memory[(count,)](x, out)
            launches["from memory, hinted"] = lambda: softmax_from_memory_hinted[(count,)](x, out)
        yield measured(f"softmax {count}x{columns}", launches, x, out, torch.softmax(x.double(), -1))
        launches = {
            name: lambda width=width, kernel=kernel: kernel[(count,)](x, weight, out, 1e-6, width)
            for name, width, kernel in norms
        }
        wide = x.double()
        reference = wide * weight.double() * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + 1e-6)
        del wide
        yield measured(f"RMS norm {count}x{columns}", launches, x, out, reference)


def measured(
    work: str, launches: dict[str, Launch], x: torch.Tensor, out: torch.Tensor, reference: torch.Tensor
) -> Row:
    """All forms beside a copy; one that is wrong or does not compile is left out, with a line that says so."""
    row = Row(work, "TB/s")
    right: dict[str, Launch] = {}
    for name, launch in launches.items():
        out.fill_(float("nan"))
        try:
            launch()
            torch.cuda.synchronize()
        except Exception as error:
            print(f"{work}, {name}: {error}")
            continue
        wrong = float((out.double() - reference).norm() / reference.norm())
        if wrong < MOST_ERROR:
            right[name] = launch
        else:
            print(f"{work}, {name}: off by {wrong:.1e}")
        row.error = max(row.error, wrong)
    copied = torch.empty_like(x)
    right["copy"] = lambda: copied.copy_(x)
    for name, ms in interleaved(right).items():
        row.rates[name] = 2 * x.numel() * 4 / ms / 1e9
    return row
