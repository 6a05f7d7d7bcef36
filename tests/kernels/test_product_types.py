"""Products of each type, whichever way their operands lie: run on the CPU and by the model of GPUs' matrix units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from product_programs import (
    NUMPY,
    accumulator,
    blocks_of,
    doubled_nt,
    doubled_right,
    doubled_tf32,
    operand,
    product,
    product_nt,
    product_tf32,
)

BYTES = ["f8e4m3fn", "f8e5m2", "i8", "u8"]
TARGETS = [None, "model:sm_75", "model:sm_80", "model:sm_89", "model:sm_90a", "model:sm_120a"]
BLOCKS = [(64, 64, 32), (48, 40, 16), (128, 96, 128)]


def check(kernel: Any, target: str | None, a: Any, b: Any, kind: str, block: tuple[int, int, int], wanted: Any) -> None:
    """Sums of exact products: only the accumulator rounds."""
    out = np.zeros(wanted.shape, NUMPY.get(accumulator(kind), np.dtype(np.int32)))
    out.fill(77)
    kernel[blocks_of(wanted.shape, block)](a, b, out, *block, target=target)
    if accumulator(kind) == "i32":
        np.testing.assert_array_equal(out, wanted)
    else:
        assert np.linalg.norm(out.astype(np.float64) - wanted) < 1e-6 * np.linalg.norm(wanted)


@pytest.mark.parametrize("kind", BYTES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("orders", ["rr", "rc", "cr", "cc"])
def test_any_order(rng: np.random.Generator, target: str | None, kind: str, orders: str) -> None:
    m, n, k = 133, 70, 144
    a = operand(rng, (m, k), kind, orders[0] == "c")
    b = operand(rng, (k, n), kind, orders[1] == "c")
    check(product, target, a, b, kind, (64, 64, 32), a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("kind", BYTES)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("target", [None, "model:sm_89", "model:sm_90a"])
@pytest.mark.parametrize("k", [77, 144])
def test_right_operand_transposed(
    rng: np.random.Generator, target: str | None, block: tuple[int, int, int], kind: str, k: int
) -> None:
    """144 elements a row go by bulk copies, 77 by threads."""
    a, b = operand(rng, (130, k), kind), operand(rng, (70, k), kind)
    check(product_nt, target, a, b, kind, block, a.astype(np.float64) @ b.T.astype(np.float64))


@pytest.mark.parametrize("kind", BYTES)
@pytest.mark.parametrize("target", [None, "model:sm_89", "model:sm_90a"])
def test_operands_out_of_registers(rng: np.random.Generator, target: str | None, kind: str) -> None:
    block, k = (64, 64, 64), 208
    a, b = operand(rng, (70, k), kind, small=True), operand(rng, (99, k), kind)
    check(doubled_nt, target, a, b, kind, block, 2 * a.astype(np.float64) @ b.T.astype(np.float64))
    b = operand(rng, (k, 99), kind, small=True)
    check(doubled_right, target, a, b, kind, block, 2 * a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("orders", ["rr", "rc", "cr", "cc"])
def test_double_precision(rng: np.random.Generator, target: str | None, orders: str) -> None:
    a, b = operand(rng, (77, 45), "f64", orders[0] == "c"), operand(rng, (45, 50), "f64", orders[1] == "c")
    out = np.full((77, 50), np.nan)
    product[blocks_of(out.shape, (32, 32, 16))](a, b, out, 32, 32, 16, target=target)
    assert np.linalg.norm(out - a @ b) < 1e-15 * np.linalg.norm(a @ b)


def cut(values: Any) -> Any:
    """f32 without the bits that tf32 lacks, as f64."""
    bits = np.ascontiguousarray(values).view(np.uint32) >> np.uint32(13) << np.uint32(13)
    return bits.view(np.float32).astype(np.float64)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("orders", ["rr", "rc", "cr", "cc"])
@pytest.mark.parametrize(("block", "k"), [((64, 64, 32), 76), ((48, 40, 8), 45)])
def test_tf32(rng: np.random.Generator, target: str | None, orders: str, block: tuple[int, int, int], k: int) -> None:
    """Where units multiply tf32, operands lose bits and nothing else does; elsewhere they lose none."""
    a, b = operand(rng, (133, k), "f32", orders[0] == "c"), operand(rng, (k, 70), "f32", orders[1] == "c")
    units = target not in (None, "model:sm_75")
    wanted = cut(a) @ cut(b) if units else a.astype(np.float64) @ b.astype(np.float64)
    check(product_tf32, target, a, b, "f32", block, wanted)
    if units:
        check(doubled_tf32, target, a, np.ascontiguousarray(b.T), "f32", block, 2 * wanted)
        check(product, target, a, b, "f32", block, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize(
    ("kernel", "b", "kind", "unit"),
    [
        (product_tf32, "[?:4, ?:4]", "f32", "wgmma_m64n128k8_tf32_f32"),
        (doubled_tf32, "[?:4, ?:4]", "f32", "wgmma_m64n128k8_tf32_f32"),
        (product_nt, "[?:4, ?:4]", "f64", "mma_m16n8k8_f64_f64"),
        (product_nt, "[?:16, ?:16]", "f8e4m3fn", "wgmma_m64n128k32_f8e4m3fn_f32"),
        (product_nt, "[?:16, ?:16]", "f8e5m2", "wgmma_m64n128k32_f8e5m2_f32"),
        (product_nt, "[?:16, ?:16]", "i8", "wgmma_m64n128k32_i8_i32"),
        (doubled_nt, "[?:16, ?:16]", "i8", "wgmma_m64n128k32_i8_i32"),
        (doubled_nt, "[?:16, ?:16]", "u8", "wgmma_m64n128k32_u8_i32"),
        # N side by side is what instructions of a warpgroup read in registers only, as the left operand.
        (product, "[?:16, ?:16]", "f8e4m3fn", "wgmma_m64n128k32_f8e4m3fn_f32"),
        (product, "[?:16, ?:16]", "i8", "wgmma_m64n128k32_i8_i32"),
        (doubled_right, "[?:16, ?:16]", "i8", "wgmma_m64n128k32_i8_i32"),
    ],
)
def test_the_instruction_follows_the_order(kernel: Any, b: str, kind: str, unit: str) -> None:
    given = {"a": f"{kind}[?:16, ?:16]", "b": kind + b, "out": f"{accumulator(kind)}[?:16, ?:16]"}
    compiled = kernel.compile("model:sm_90a", **given, BM=128, BN=128, BK=32)
    assert compiled.report["atoms"] == [unit]
