"""Products and attention as they leave the last pass for sm_90a, and runs of their blocks."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from protocol_checker import BlockRun
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from tileopt.backends.pipelines import run_passes
from tileopt.backends.runtime.signature import signature_of
from tileopt.dialects import simt
from tileopt.dialects.target import get_target
from tileopt.dialects.verifier import verify
from tileopt.passes.schedule.map_tensor_cores import NUM_WARPS

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from attention import attention
from matmul import matmul

WIDE, HEADS = "bf16[?:16, ?:16]", "bf16[?, ?:16, ?:16]"
Tile = tuple[int, int, int]


def lowered(kernel: Any, warps: int | None = None, **given: object) -> ModuleOp:
    module: ModuleOp = kernel.build(signature_of(kernel.parameters, given))
    if warps is not None:
        for op in module.body.block.ops:
            op.attributes[NUM_WARPS] = IntegerAttr(warps, i64)
    run_passes(module, get_target("sm_90a"))
    verify(module)
    return module


def top(module: ModuleOp) -> simt.Kernel:
    (kernel,) = (op for op in module.body.block.ops if isinstance(op, simt.Kernel))
    return kernel


def workers(module: ModuleOp) -> int:
    """The warps that multiply."""
    kernel = top(module)
    return (kernel.integer(simt.WORKERS) or kernel.integer(simt.THREADS) or 0) // 32


@cache
def gemm(bm: int, bn: int, bk: int, out: str = WIDE, warps: int | None = None) -> ModuleOp:
    return lowered(matmul, warps, a=WIDE, b=WIDE, out=out, BM=bm, BN=bn, BK=bk)


@cache
def flash(bm: int, bn: int, d: int, causal: bool, late: bool | None = None, turns: bool | None = None) -> ModuleOp:
    arrays = dict.fromkeys(["q", "k", "v", "out"], HEADS)
    return lowered(
        attention.with_hints(late_waits=late, take_turns=turns), **arrays, scale="f32", BM=bm, BN=bn, D=d, CAUSAL=causal
    )


BLOCKS = 2  # that a persistent kernel's tiles are dealt out to


def run_gemm(module: ModuleOp, tile: Tile, trips: int, seed: int, block: int = 0) -> BlockRun:
    """A block of a product of 3 x 2 tiles that do not fill the array."""
    bm, bn, bk = tile
    m, n, k = 3 * bm - 1, 2 * bn - 1, max(0, trips * bk - 3)
    given = [("a", (m, k)), ("b", (k, n)), ("out", (m, n))]
    return BlockRun(top(module), given, seed, grid=(3, 2, 1), physical=(block, BLOCKS))


def run_flash(module: ModuleOp, bm: int, bn: int, d: int, trips: int, seed: int, block: int = 0) -> BlockRun:
    """A block of attention of 2 heads of 2 tiles of queries."""
    queries, keys = (2, 2 * bm - 1, d), (2, max(0, trips * bn - 3), d)
    given = [("q", queries), ("k", keys), ("v", keys), ("out", queries), 1]
    return BlockRun(top(module), given, seed, ids=(block % 2, block // 2, 0), grid=(2, 2, 1), physical=(block, 4))
