"""The hardware's own instructions in kernels of threads, against NumPy: modelled on the CPU, as they are on a GPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mma_fragments as ptx
import numpy as np
import pytest
from hardware_programs import MMA_ROWS, TMA_CASES, mma_kernel, mma_name, tcgen05_kernel, tma_kernel, wgmma_kernel
from kernel_device import Array, Device

from tileopt import simt
from tileopt.dialects.gpu_mma_shapes import OPERAND_BITS, MmaShape

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "simt"))

from cluster_ring import ring_sum
from dynamic_shared import reverse_blocks
from inline_ptx import differences
from matrix_transpose import matrix_transpose
from tensor_core_product import tensor_core_product
from tma_pipeline import column_sums

BF16 = ptx.STORED["bf16"]
SUMS = {"f16": 4e-3, "f32": 2e-6, "f64": 1e-14}  # relative errors of sums in a type
EIGHT_BITS = 2e-3  # tensor cores keep fewer bits of sums of 8-bit floats


def close(found: Array, wanted: Array, limit: float) -> None:
    error = np.linalg.norm(found.astype(np.float64) - wanted) / max(1e-30, float(np.linalg.norm(wanted)))
    assert error < limit


@pytest.mark.parametrize("row", MMA_ROWS, ids=mma_name)
def test_mma_sync(device: Device, rng: np.random.Generator, row: tuple[MmaShape, str, str, str]) -> None:
    shape, a_type, b_type, acc_type = row
    device.needs(shape.min_arch)
    m, n, k = shape.m, shape.n, shape.k
    formulas = ptx.OPERANDS[shape.name, OPERAND_BITS[a_type]]
    a, b = ptx.random_matrix(rng, (m, k), a_type), ptx.random_matrix(rng, (k, n), b_type)
    acc = ptx.random_matrix(rng, (m, n), acc_type)
    lanes = ptx.held(acc, ptx.ACC[m], m * n // 32)
    words = lanes.view(np.uint32) if acc_type == "f16" else lanes
    out = device.empty(words.shape, words.dtype)
    given = [ptx.words_of(ptx.held(x, f, x.size // 32), t) for x, f, t in zip((a, b), formulas, row[1:3], strict=True)]
    mma_kernel(*row)[1](*map(device.put, (*given, words)), out)
    found = ptx.scattered(device.get(out).view(ptx.STORED[acc_type]), ptx.ACC[m], (m, n))
    if acc_type == "i32":
        np.testing.assert_array_equal(found, acc.astype(np.int64) + a.astype(np.int64) @ b.astype(np.int64))
    else:
        wanted = acc.astype(np.float64) + a.astype(np.float64) @ b.astype(np.float64)
        close(found, wanted, EIGHT_BITS if a_type.startswith("f8") else SUMS[acc_type])


WGMMA = [
    (8, 16, "f16", "f16", False, False), (96, 64, "bf16", "bf16", False, False), (256, 128, "f16", "f16", False, False),
    (64, 64, "bf16", "bf16", True, True), (128, 32, "f16", "f16", False, True), (24, 16, "tf32", "tf32", False, False),
    (64, 128, "f8e4m3fn", "f8e5m2", False, False), (32, 64, "i8", "u8", False, False),
    (16, 32, "u8", "i8", False, False),
]  # fmt: skip


def group_matrix(words: Array, n: int) -> Array:
    """The 64 x n accumulator whose words the threads of a warpgroup hold (PTX ISA, wgmma)."""
    out = np.zeros((64, n), words.dtype)
    for thread in range(128):
        for i in range(n // 2):
            row = 16 * (thread // 32) + thread % 32 // 4 + (8 if i % 4 >= 2 else 0)
            out[row, 8 * (i // 4) + 2 * (thread % 4) + i % 2] = words[thread, i]
    return out


def stored_bits(x: Array) -> Array:
    """u8 travels in arrays of i8."""
    return x.view(np.int8) if x.dtype == np.uint8 else x


@pytest.mark.parametrize("case", WGMMA, ids=lambda c: "-".join(map(str, c)))
def test_wgmma(device: Device, rng: np.random.Generator, case: tuple[Any, ...]) -> None:
    n, k, a_type, b_type, trans_a, trans_b = case
    device.needs(90, exactly=(90,))
    a, b = ptx.random_matrix(rng, (64, k), a_type), ptx.random_matrix(rng, (n, k), b_type)
    given = [np.ascontiguousarray(x.T if t else x) for x, t in ((a, trans_a), (b, trans_b))]
    integers = b_type in ("i8", "u8")
    out = device.empty((128, n // 2), np.int32 if integers else np.float32)
    wgmma_kernel(*case, registers=False)[1](*(device.put(stored_bits(x)) for x in given), out)
    found = group_matrix(device.get(out), n)
    if integers:
        np.testing.assert_array_equal(found, a.astype(np.int64) @ b.astype(np.int64).T)
    else:
        limit = EIGHT_BITS if a_type.startswith("f8") else 2e-6
        close(found, a.astype(np.float64) @ b.astype(np.float64).T, limit)


@pytest.mark.parametrize(("kind", "shape"), [("f16", "m16n8k16"), ("i8", "m16n8k32"), ("tf32", "m16n8k8")])
def test_wgmma_of_registers(device: Device, rng: np.random.Generator, kind: str, shape: str) -> None:
    device.needs(90, exactly=(90,))
    depth = 256 // OPERAND_BITS[kind]
    n, k = 16, 2 * depth
    a, b = ptx.random_matrix(rng, (64, k), kind), ptx.random_matrix(rng, (n, k), kind)
    words = np.zeros((128, 8), np.uint32)
    for warp in range(4):
        for step in range(2):
            part = a[16 * warp : 16 * warp + 16, depth * step : depth * step + depth]
            elements = ptx.held(part, ptx.OPERANDS[shape, OPERAND_BITS[kind]][0], 16 * depth // 32)
            words[32 * warp : 32 * warp + 32, 4 * step : 4 * step + 4] = ptx.words_of(elements, kind)
    out = device.empty((128, n // 2), np.int32 if kind == "i8" else np.float32)
    kernel = wgmma_kernel(n, k, kind, kind, False, False, registers=True)
    kernel[1](device.put(words), device.put(b), out)
    close(group_matrix(device.get(out), n), a.astype(np.float64) @ b.astype(np.float64).T, 2e-6)


TCGEN05 = [
    (16, 64, "f16", "f16", False, False), (96, 64, "bf16", "bf16", False, False), (256, 32, "f16", "f16", False, False),
    (64, 32, "bf16", "bf16", True, True), (32, 128, "f8e4m3fn", "f8e5m2", False, False),
]  # fmt: skip


@pytest.mark.parametrize("case", TCGEN05, ids=lambda c: "-".join(map(str, c)))
def test_tcgen05(device: Device, rng: np.random.Generator, case: tuple[Any, ...]) -> None:
    n, k, a_type, b_type, trans_a, trans_b = case
    device.needs(100, exactly=(100, 103, 110))
    a, b = ptx.random_matrix(rng, (128, k), a_type), ptx.random_matrix(rng, (n, k), b_type)
    given = [np.ascontiguousarray(x.T if t else x) for x, t in ((a, trans_a), (b, trans_b))]
    out = device.empty((128, n), np.float32)
    tcgen05_kernel(*case)[1](*map(device.put, given), out)
    close(device.get(out), 2 * (a.astype(np.float64) @ b.astype(np.float64).T), 2e-6)


@pytest.mark.parametrize("case", TMA_CASES, ids=lambda c: f"{len(c[0])}d-{c[2]}-{c[3]}")
def test_tma_of_all_ranks(
    device: Device, rng: np.random.Generator, case: tuple[tuple[int, ...], tuple[int, ...], str, int]
) -> None:
    tile, shape, dtype, swizzle = case
    device.needs(90)
    stored = {**ptx.STORED, "f64": np.float64}[dtype]
    x = rng.integers(-100, 100, shape).astype(stored)
    out = device.empty(shape, stored)
    tma_kernel(tile, dtype, swizzle)[simt.cdiv(shape[-1], tile[-1])](device.put(x), out)
    np.testing.assert_array_equal(device.get(out).astype(np.float64), x.astype(np.float64))


# The programs of examples/simt


@pytest.mark.parametrize(("m", "n", "k"), [(64, 32, 32), (70, 45, 77), (1, 1, 1), (33, 100, 130)])
def test_tensor_core_product(device: Device, rng: np.random.Generator, m: int, n: int, k: int) -> None:
    device.needs(80)
    a, b = rng.standard_normal((m, k)).astype(BF16), rng.standard_normal((k, n)).astype(BF16)
    c = device.empty((m, n), np.float32)
    tensor_core_product[simt.cdiv(n, 32), simt.cdiv(m, 64)](device.put(a), device.put(b), c)
    close(device.get(c), a.astype(np.float64) @ b.astype(np.float64), 2e-6)


@pytest.mark.parametrize(("m", "n"), [(211, 132), (1, 4), (96, 64), (300, 260)])
def test_tma_pipeline(device: Device, rng: np.random.Generator, m: int, n: int) -> None:
    device.needs(90)
    x, out = rng.standard_normal((m, n)).astype(np.float32), device.empty(n, np.float32)
    column_sums[simt.cdiv(n, 64)](device.put(x), out)
    close(device.get(out), x.astype(np.float64).sum(0), 1e-5)


@pytest.mark.parametrize("n", [1, 256, 777])
def test_cluster_ring(device: Device, rng: np.random.Generator, n: int) -> None:
    device.needs(90)
    x, out = rng.integers(-1000, 1000, n).astype(np.int32), device.empty(n, np.int32)
    clusters = simt.cdiv(n, 256)
    ring_sum[4 * clusters](device.put(x), out)
    blocks = np.pad(x, (0, 256 * clusters - n)).reshape(clusters, 4, 64)
    np.testing.assert_array_equal(device.get(out), blocks.sum(1, keepdims=True).repeat(4, 1).ravel()[:n])


@pytest.mark.parametrize(("m", "n"), [(16, 16), (37, 50), (1, 3)])
def test_matrix_transpose(device: Device, rng: np.random.Generator, m: int, n: int) -> None:
    device.needs(90)
    x, out = rng.standard_normal((m, n)).astype(np.float16), device.empty((n, m), np.float16)
    matrix_transpose[simt.cdiv(n, 16), simt.cdiv(m, 16)](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), x.T)


def test_inline_ptx(device: Device, rng: np.random.Generator) -> None:
    x, y = (rng.integers(0, 1 << 32, 1003, dtype=np.uint32) for _ in range(2))
    out = device.empty(1003, np.uint32)
    differences[4](device.put(x), device.put(y), out)
    bytes_ = np.abs(x.view(np.uint8).astype(int) - y.view(np.uint8).astype(int))
    np.testing.assert_array_equal(device.get(out), bytes_.reshape(-1, 4).sum(1))


def test_dynamic_shared(device: Device, rng: np.random.Generator) -> None:
    x, out = rng.standard_normal(333).astype(np.float32), device.empty(333, np.float64)
    reverse_blocks[3](device.put(x), out)
    moved = x.astype(np.float64) + np.arange(333)
    np.testing.assert_array_equal(device.get(out), np.concatenate([moved[s : s + 128][::-1] for s in (0, 128, 256)]))
