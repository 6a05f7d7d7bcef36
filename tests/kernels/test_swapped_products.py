"""Products that a warpgroup's unit computes as the transpose of the other one: run on the CPU and by sm_90a's model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from product_programs import NUMPY, accumulator, blocks_of, operand, product, product_nt, product_tf32

from tileopt import tile
from tileopt.dialects.contracts import ArraySpec


@tile.kernel
def twice(q: tile.In, k: tile.In, v: tile.In, out: tile.Out, M: tile.Const[int], N: tile.Const[int]):
    """(q @ k.T) @ v, the first product's result in the operands' type between."""
    i = tile.bid(0)
    acc = tile.zeros((M, 64), tile.f32)
    left = tile.load(q, (i, 0), (M, 32))
    for j in range(tile.cdiv(k.shape[0], N)):
        scores = tile.mma(left, tile.load(k, (j, 0), (N, 32)).T, tile.zeros((M, N), tile.f32))
        acc = tile.mma(scores.astype(v.dtype), tile.load(v, (j, 0), (N, 64)), acc)
    tile.store(out, (i, 0), acc)


TARGETS = [None, "model:sm_90a"]


@tile.kernel
def two_sums(a: tile.In, b: tile.In, c: tile.In, d: tile.In, out: tile.Out, M: tile.Const[int], N: tile.Const[int]):
    """a @ b + c @ d.T, rows of the sum scaled by its largest element, a column at a time."""
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((M, N), tile.f32)
    for k in range(tile.cdiv(a.shape[1], 32)):
        acc = tile.mma(tile.load(a, (i, k), (M, 32)), tile.load(b, (k, j), (32, N)), acc)
        acc = tile.mma(tile.load(c, (i, k), (M, 32)), tile.load(d, (j, k), (N, 32)).T, acc)
    tile.store(out, (i, j), acc / acc.max(axis=1, keepdims=True))


@tile.kernel
def in_parts(a: tile.In, b: tile.In, out: tile.InOut, M: tile.Const[int], N: tile.Const[int], PART: tile.Const[int]):
    """out += a @ b, summed in parts of `PART` steps that each start from zero, in a loop around the loop."""
    i, j = tile.bid(0), tile.bid(1)
    total = tile.load(out, (i, j), (M, N))
    for part in range(tile.cdiv(a.shape[1], 32 * PART)):
        acc = tile.zeros((M, N), tile.f32)
        for k in range(PART):
            step = part * PART + k
            acc = tile.mma(tile.load(a, (i, step), (M, 32)), tile.load(b, (step, j), (32, N)), acc)
        total = total + acc
    tile.store(out, (i, j), total)


def close(out: Any, wanted: Any) -> bool:
    return bool(np.linalg.norm(out.astype(np.float64) - wanted) <= 2e-6 * np.linalg.norm(wanted))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("orders", ["rr", "rc", "cr", "cc"])
@pytest.mark.parametrize("block", [(8, 64, 64), (16, 128, 32), (24, 64, 16), (40, 192, 64)], ids=str)
def test_few_rows(rng: np.random.Generator, target: str | None, orders: str, block: tuple[int, int, int]) -> None:
    """K of 96 and 104 elements goes by bulk copies, of 131 by threads."""
    m, n, k, kind = int(rng.integers(1, 70)), 200, int(rng.choice([96, 104, 131])), str(rng.choice(["bf16", "f16"]))
    a, b = operand(rng, (m, k), kind, orders[0] == "c"), operand(rng, (k, n), kind, orders[1] == "c")
    out = np.full((m, n), np.nan, np.float32)
    product[blocks_of(out.shape, block)](a, b, out, *block, target=target)
    assert close(out, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("orders", ["rr", "cr", "cc"])
@pytest.mark.parametrize("kind", ["f8e4m3fn", "i8", "f32"])
@pytest.mark.parametrize("block", [(128, 128, 32), (64, 256, 64), (96, 64, 96)], ids=str)
def test_any_order(
    rng: np.random.Generator, target: str | None, kind: str, orders: str, block: tuple[int, int, int]
) -> None:
    """N side by side, M side by side: what units of 8 and 32 bits read through registers. K of 48 is one bulk copy in
    parts, 67 goes by threads."""
    m, n, k = 133, 272, int(rng.choice([48, 67, 160]))
    a, b = operand(rng, (m, k), kind, orders[0] == "c"), operand(rng, (k, n), kind, orders[1] == "c")
    if kind == "f32":
        a, b = (np.round(x * 64).astype(np.float32) / 64 for x in (a, b))  # exact in tf32
        a, b = (np.asfortranarray(x) if o == "c" else x for x, o in zip((a, b), orders, strict=True))
    out = np.full((m, n), 77, NUMPY.get(accumulator(kind), np.dtype(np.int32)))
    kernel = product_tf32 if kind == "f32" else product
    kernel[blocks_of(out.shape, block)](a, b, out, *block, target=target)
    assert close(out, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["bf16", "f8e4m3fn"])
@pytest.mark.parametrize("block", [(16, 64), (64, 128)], ids=str)
def test_what_becomes_of_the_sum(
    rng: np.random.Generator, target: str | None, kind: str, block: tuple[int, int]
) -> None:
    """Two products of one sum, whose operands lie in other orders; reductions and divisions behind the loop."""
    m, n, k = 100, block[1] * 2, 176
    a, c, d = operand(rng, (m, k), kind), operand(rng, (m, k), kind), operand(rng, (n, k), kind)
    b = operand(rng, (k, n), kind)
    out = np.full((m, n), np.nan, np.float32)
    two_sums[-(-m // block[0]), 2](a, b, c, d, out, *block, target=target)
    total = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64) @ d.T.astype(np.float64)
    wanted = np.concatenate([x / x.max(axis=1, keepdims=True) for x in np.split(total, 2, axis=1)], axis=1)
    assert close(out, wanted)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["f8e4m3fn", "bf16"])
@pytest.mark.parametrize("block", [(64, 64), (128, 96), (16, 64)], ids=str)
def test_a_product_of_a_product(
    rng: np.random.Generator, target: str | None, kind: str, block: tuple[int, int]
) -> None:
    """v lies with N side by side, and the left operand is computed: v is turned on its way."""
    q, k, v = (rng.integers(-1, 2, shape).astype(NUMPY[kind]) for shape in ((150, 32), (200, 32), (200, 64)))
    out = np.full((150, 64), np.nan, np.float32)
    twice[-(-150 // block[0])](q, k, v, out, *block, target=target)
    scores = (q.astype(np.float64) @ k.T.astype(np.float64)).astype(NUMPY[kind])
    assert close(out, scores.astype(np.float64) @ v.astype(np.float64))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [False, True])
def test_loops_in_loops(rng: np.random.Generator, target: str | None, columns: bool) -> None:
    a, b = operand(rng, (50, 200), "bf16"), operand(rng, (200, 130), "bf16")
    before = rng.standard_normal((50, 130)).astype(np.float32)
    out = np.asfortranarray(before) if columns else before.copy()
    in_parts[4, 3](a, b, out, 16, 64, 3, target=target)
    assert close(out, before + a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize(
    ("kernel", "kind", "block", "unit"),
    [
        (product, "bf16", (16, 64, 64), "wgmma_m64n16k16_bf16_f32"),
        (product_nt, "bf16", (8, 128, 64), "wgmma_m64n8k16_bf16_f32"),
        (product_nt, "f8e4m3fn", (16, 64, 64), "wgmma_m64n16k32_f8e4m3fn_f32"),
        (product, "bf16", (64, 64, 64), "wgmma_m64n64k16_bf16_f32"),
        (product, "bf16", (16, 48, 64), "mma_m16n8k16_bf16_f32"),  # neither side has 64
        (product_tf32, "f32", (128, 256, 32), "wgmma_m64n128k8_tf32_f32"),
        (product, "f8e4m3fn", (128, 256, 128), "wgmma_m64n128k32_f8e4m3fn_f32"),
        (product, "u8", (128, 256, 128), "wgmma_m64n128k32_u8_i32"),
        (twice, "f8e4m3fn", (64, 64), "wgmma_m64n64k32_f8e4m3fn_f32"),
    ],
)
def test_units(kernel: Any, kind: str, block: tuple[int, ...], unit: str) -> None:
    arrays, tiles = (("q", "k", "v"), ("M", "N")) if kernel is twice else (("a", "b"), ("BM", "BN", "BK"))
    given = dict.fromkeys(arrays, f"{kind}[?:16, ?:16]") | {"out": f"{accumulator(kind)}[?:16, ?:16]"}
    found = kernel.compile("model:sm_90a", **given, **dict(zip(tiles, block, strict=True)))
    assert found.report["atoms"] == [unit]
    assert found.report["roles"] or "wgmma" not in unit


@pytest.mark.parametrize(("block", "n"), [((256, 128, 64), 128), ((128, 256, 64), 128), ((64, 64, 32), 64)], ids=str)
@pytest.mark.parametrize("kind", ["f8e4m3fn", "u8", "f32"])
def test_neither_side_by_side(kind: str, block: tuple[int, int, int], n: int) -> None:
    """Of two operands that lie the wrong way, the smaller one is turned on its way, and the other one read across."""
    across = ArraySpec(kind, 2, 16, 0, (16, 16), (1, 16), small=True, regular=True)
    given = {"a": across, "b": f"{kind}[?:16, ?:16]", "out": f"{accumulator(kind)}[?:16, ?:16]"}
    kernel, deep = (product_tf32, block[2] // 2) if kind == "f32" else (product, block[2])
    report = kernel.compile("sm_90a", **given, BM=block[0], BN=block[1], BK=deep).report
    assert len(report["atoms"]) == 1 and report["atoms"][0].startswith(f"wgmma_m64n{n}k")
    assert report["roles"] and report["spill_stores"] == report["spill_loads"] == 0
    assert not report["wgmma_serialised"]
    reads = [x for buffer in report["buffers"] for x in buffer["accesses"] if x["by"] in ("ldmatrix", "threads' loads")]
    assert len(reads) >= 2 and all(x["conflicts"] == 0 for x in reads)
