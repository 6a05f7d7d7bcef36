"""Products of few rows by a wide matrix, as of the tokens of one step of a language model: memory alone bounds them.

128 MB of weights take 32 us at the 4.2 TB/s of a copy. Forms of ours: one block for 64 columns, with the copies that
fit two blocks of a multiprocessor (`tileopt`), or with all its memory for one (`alone`); clusters of two blocks that
load the rows together (`pairs`); K in 2 and 4 parts, whose sums are added up in f32 (`split 2`, `split 4`, the filling
with zeros included).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import tileopt
from benchmarks.measure import Launch, Row
from tileopt import tile

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from split_k import split_k

Finish = Callable[[Row, float, dict[str, Launch], torch.Tensor, torch.Tensor], Row]
TILES = {1: (8, 64, 128), 16: (16, 64, 128), 64: (64, 64, 128), 128: (128, 64, 128)}


@tile.kernel
def few_rows(x: tile.In, w: tile.In, out: tile.Out, M: tile.Const[int], N: tile.Const[int], K: tile.Const[int]):
    """x @ w; neighbouring blocks take neighbouring columns."""
    j, i = tile.bid(0), tile.bid(1)
    acc = tile.zeros((M, N), tile.f32)
    for k in range(tile.cdiv(x.shape[1], K)):
        acc = tile.mma(tile.load(x, (i, k), (M, K)), tile.load(w, (k, j), (K, N)), acc)
    tile.store(out, (i, j), acc.astype(out.dtype))


alone = tile.kernel(occupancy=1, num_stages=10)(few_rows.function)
pairs = tile.kernel(num_ctas=2)(few_rows.function)


def products_of_few_rows(finish: Finish, n: int = 8192) -> Iterator[Row]:
    w = torch.randn(n, n, device="cuda").bfloat16().t()  # stored as (N, K)
    for m, tiles in TILES.items():
        x = torch.randn(m, n, device="cuda").bfloat16()
        out = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        spare, theirs = torch.empty_like(out), torch.empty_like(out)
        total = torch.zeros(m, n, device="cuda")
        grid = (tileopt.cdiv(n, tiles[1]), 1)

        def of(kernel: Any, to: torch.Tensor, x: torch.Tensor = x, grid: Any = grid, tiles: Any = tiles) -> Launch:
            return lambda: kernel[grid](x, w, to, *tiles)

        def in_parts(parts: int, x: torch.Tensor = x, to: torch.Tensor = total, tiles: Any = tiles) -> Launch:
            def launch() -> None:
                to.zero_()
                split_k[1, tileopt.cdiv(n, tiles[1]), parts](x, w, to, *tiles)

            return launch

        rivals: dict[str, Launch] = {
            "tileopt": of(few_rows, out),
            "alone": of(alone, spare),
            "pairs": of(pairs, spare),
            "split 2": in_parts(2),
            "split 4": in_parts(4),
            "cuBLAS": lambda x=x, theirs=theirs: torch.mm(x, w, out=theirs),
        }
        name = f"bf16 product NT {m}x{n}x{n}"
        yield finish(Row(name, "TFLOP/s"), 2.0 * m * n * n, rivals, out, x.double() @ w.double())
