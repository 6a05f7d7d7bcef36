"""Products of tiles by `tcgen05.mma`, their accumulators in tensor memory: by the model of sm_100a against NumPy, and
assembled."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from product_programs import NUMPY, accumulator, blocks_of, doubled_nt, operand, product, product_nt, tf32_nt
from xdsl.dialects.builtin import ModuleOp

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from attention import attention
from matmul import matmul
from variants import gated, three_products

import tileopt
from tileopt import tile
from tileopt.dialects.gpu_accumulator import AccumulatorWait
from tileopt.passes.lowering.keep_accumulators import KeepAccumulators

MODEL = "model:sm_100a"
BYTES = "f8e4m3fn[?, ?:16]"
HEADS, WIDE, ODD = "bf16[?, ?:16, ?:16]", "bf16[?:16, ?:16]", "bf16[?, ?]"
Array = np.ndarray[Any, Any]


def close(found: Array, wanted: Array, limit: float) -> None:
    assert np.linalg.norm(found.astype(np.float64) - wanted) < limit * np.linalg.norm(wanted)


def check(kernel: Any, a: Array, b: Array, kind: str, block: tuple[int, int, int], wanted: Array) -> None:
    out = np.full(wanted.shape, 77, NUMPY.get(accumulator(kind), np.dtype(np.int32)))
    kernel[blocks_of(wanted.shape, block)](a, b, out, *block, target=MODEL)
    if accumulator(kind) == "i32":
        np.testing.assert_array_equal(out, wanted)
    else:
        close(out, wanted, 1e-6)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("orders", ["rr", "rc", "cr", "cc"])
@pytest.mark.parametrize("odd", [False, True], ids=["bulk copies", "threads' copies"])
def test_either_order(rng: np.random.Generator, kind: str, orders: str, odd: bool) -> None:
    """Sizes that are no multiple of 8 keep the copy engine out: threads copy, and there are no roles."""
    m, n, k = (201, 99, 77) if odd else (200, 104, 88)
    a, b = operand(rng, (m, k), kind, orders[0] == "c"), operand(rng, (k, n), kind, orders[1] == "c")
    check(product, a, b, kind, (128, 64, 32), a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("kind", ["f8e4m3fn", "f8e5m2", "i8", "u8"])
@pytest.mark.parametrize("k", [77, 144])
def test_bytes(rng: np.random.Generator, kind: str, k: int) -> None:
    a, b = operand(rng, (130, k), kind), operand(rng, (70, k), kind)
    check(product_nt, a, b, kind, (128, 48, 64), a.astype(np.float64) @ b.T.astype(np.float64))


def test_tf32(rng: np.random.Generator) -> None:
    a, b = operand(rng, (140, 52), "f32"), operand(rng, (60, 52), "f32")
    kept = [(x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64) for x in (a, b)]
    check(tf32_nt, a, b, "f32", (128, 32, 16), kept[0] @ kept[1].T)


@pytest.mark.parametrize("block", [(256, 64, 32), (128, 256, 32), (256, 96, 16), (384, 16, 16)])
def test_rows_and_columns_of_more_than_one_warpgroup(rng: np.random.Generator, block: tuple[int, int, int]) -> None:
    m, n, k = 400, 264, 40
    a, b = operand(rng, (m, k), "f16"), operand(rng, (k, n), "f16")
    check(product, a, b, "f16", block, a.astype(np.float64) @ b.astype(np.float64))


def test_left_operand_out_of_registers(rng: np.random.Generator) -> None:
    a, b = operand(rng, (130, 72), "bf16"), operand(rng, (64, 72), "bf16")
    check(doubled_nt, a, b, "bf16", (128, 64, 32), 2 * a.astype(np.float64) @ b.T.astype(np.float64))


@pytest.mark.parametrize(("length", "bn", "d"), [(200, 64, 64), (140, 128, 64), (264, 32, 128)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(rng: np.random.Generator, length: int, bn: int, d: int, causal: bool) -> None:
    q, k, v = (operand(rng, (length, d), "bf16")[None] for _ in range(3))
    out = np.full_like(q, np.nan)
    attention[-(-length // 128), 1](q, k, v, out, math.log2(math.e) / 8, 128, bn, d, causal, target=MODEL)
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / 8
    if causal:
        scores[:, ~np.tri(length, dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    close(out, weights / weights.sum(-1, keepdims=True) @ v.astype(np.float64), 1e-2)


@tile.kernel
def faded(a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    """An accumulator of ones that is halved between products, and read for a sum in every second iteration."""
    i = tile.bid(0)
    acc = tile.full((BM, BN), 1.0, tile.f32)
    total = tile.zeros((BM,), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        if k % 2 == 0:
            total = total + tile.sum(acc, axis=1)
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, 0), (BK, BN)), acc * 0.5)
    tile.store(out, (i, 0), acc + total[:, None])


def test_an_accumulator_that_is_worked_on_between_products(rng: np.random.Generator) -> None:
    a, b = operand(rng, (140, 112), "bf16"), operand(rng, (112, 32), "bf16")
    wanted, total = np.ones((140, 32)), np.zeros(140)
    for at, k in enumerate(range(0, 112, 32)):
        if at % 2 == 0:
            total += wanted.sum(1)
        wanted = wanted / 2 + a[:, k : k + 32].astype(np.float64) @ b[k : k + 32].astype(np.float64)
    out = np.full((140, 32), np.nan, np.float32)
    faded[2](a, b, out, 128, 32, 32, target=MODEL)
    close(out, wanted + total[:, None], 1e-6)


@tile.kernel
def nested(a: tile.In, b: tile.In, out: tile.Out, TIMES: tile.Const[int]):
    """Two loops around a product, and products that the condition of an `if` may leave out."""
    acc = tile.zeros((128, 32), tile.f32)
    for t in range(TIMES):
        for k in range(tile.cdiv(a.shape[1], 32)):
            left, right = tile.load(a, (0, k), (128, 32)), tile.load(b, (k, 0), (32, 32))
            acc = tile.mma(left, right, acc)
            if (k + t) % 2 == 0:
                acc = tile.mma(left, right, acc)
    tile.store(out, (0, 0), acc)


@pytest.mark.parametrize("times", [0, 3])
def test_loops_and_conditions(rng: np.random.Generator, times: int) -> None:
    a, b = operand(rng, (100, 90), "f16"), operand(rng, (90, 32), "f16")
    wanted = np.zeros((100, 32))
    for t in range(times):
        for at, k in enumerate(range(0, 90, 32)):
            one = a[:, k : k + 32].astype(np.float64) @ b[k : k + 32].astype(np.float64)
            wanted += one * (2 if (at + t) % 2 == 0 else 1)
    out = np.full((100, 32), np.nan, np.float32)
    nested[1](a, b, out, times, target=MODEL)
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-4)


@tile.kernel
def once(a: tile.In, b: tile.In, out: tile.Out):
    left, right = tile.load(a, (0, 0), (128, 16)), tile.load(b, (0, 0), (16, 16))
    tile.store(out, (0, 0), tile.mma(left, right, tile.zeros((128, 16), tile.f32)))


def test_a_product_that_is_not_waited_for_is_found(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = operand(rng, (128, 16), "f16"), operand(rng, (16, 16), "f16")
    out = np.zeros((128, 16), np.float32)

    def forget(_: object, __: object, module: ModuleOp) -> None:
        for op in list(module.walk()):
            if isinstance(op, AccumulatorWait):
                op.detach()

    monkeypatch.setattr(KeepAccumulators, "apply", forget)
    with pytest.raises(tileopt.DeviceError) as caught:
        once[1](a, b, out, target=MODEL)
    assert caught.value.code == "model/tensor-memory"
    assert "a product may be under way" in str(caught.value)


def test_the_code_that_is_made() -> None:
    """The producer fills the slots, one thread multiplies, and the unit itself gives them back."""
    kernel = matmul.compile("sm_100a", a=WIDE, b=WIDE, out=WIDE, BM=128, BN=128, BK=64)
    assert kernel.report["atoms"] == ["tcgen05_m128n128k16_bf16_f32"]
    assert kernel.report["tensor_columns"] == 128
    assert kernel.report["roles"]["consumer"]["warps"] == 8
    loop = re.search(r"scf\.for %k = .*?\n +\} \{tile", kernel.ir("simt"), re.DOTALL)
    assert loop is not None
    ops = re.findall(r"gpu\.\w+", loop[0])
    assert ops == ["gpu.mbarrier_wait", "gpu.accumulate", "gpu.tcgen05_commit"]  # and no barrier of threads
    assert "simt.barrier" not in loop[0]
    assert kernel.ptx.count("tcgen05.mma.cta_group::1.kind::f16 ") == 4  # of 16 of K each


def test_it_is_assembled_without_spills_in_loops() -> None:
    for target in ("sm_100a", "sm_103a"):
        compiled = [
            matmul.compile(target, a=WIDE, b=WIDE, out=WIDE, BM=128, BN=256, BK=64),
            matmul.compile(target, a=ODD, b=ODD, out=ODD, BM=128, BN=128, BK=32),
            product_nt.compile(target, a=BYTES, b=BYTES, out="f32[?, ?]", BM=128, BN=64, BK=128),
            tf32_nt.compile(target, a="f32[?, ?:4]", b="f32[?, ?:4]", out="f32[?, ?]", BM=128, BN=64, BK=32),
            gated.compile(target, a=WIDE, b=WIDE, gate=WIDE, out=WIDE, BM=128, BN=128, BK=64),
            three_products.compile(target, q=WIDE, k=WIDE, v=WIDE, w=WIDE, out="f32[?, ?]", BM=128, BN=128),
            attention.compile(target, q=HEADS, k=HEADS, v=HEADS, out=HEADS, scale="f32", BM=128, BN=128, CAUSAL=True),
            attention.compile(target, q=HEADS, k=HEADS, v=HEADS, out=HEADS, scale="f32", BM=128, BN=64, D=128),
        ]  # fmt: skip
        for kernel in compiled:
            assert all(atom.startswith("tcgen05") for atom in kernel.report["atoms"])
            assert len(kernel.cubin) > 1000
            # ptxas may keep a parameter or two in memory from before the roles part until the producer begins.
            assert kernel.report["spill_stores"] <= 8


def test_integers_are_of_those_chips_that_have_them() -> None:
    given = {"a": "i8[?, ?:16]", "b": "i8[?, ?:16]", "out": "i32[?, ?]", "BM": 128, "BN": 64, "BK": 64}
    kernel = product_nt.compile("sm_100a", **given)
    assert kernel.report["atoms"] == ["tcgen05_m128n64k32_i8_i32"]
    assert len(kernel.cubin) > 1000
    assert product_nt.compile("sm_103a", **given).report["atoms"] == ["mma_m16n8k32_i8_i32"]
