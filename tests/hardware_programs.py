"""Kernels that use one instruction of the hardware's own each, made for a shape, types and sizes."""

from __future__ import annotations

from math import prod
from typing import Any

from python_kernels import simt_kernel

from tileopt import simt
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_mma_shapes import MMA_SHAPES, MmaShape

MMA_ROWS = [(row, a, b, acc) for row in MMA_SHAPES for a in row.kinds for b in row.kinds for acc in row.accs]


def mma_name(row: tuple[MmaShape, str, str, str]) -> str:
    return "-".join((row[0].name, *row[1:]))


def row_of(words: Any, lane: Any, count: Any) -> Any:
    """A lane's words."""
    found = ()
    for i in simt.static_range(count):
        found += (words[lane, i],)
    return found


def mma_kernel(row: MmaShape, a_type: str, b_type: str, acc_type: str) -> Any:
    """out = acc + a @ b, all as words of 32 lanes."""
    shape, (na, nb, nc) = row.name, row.words(acc_type)

    @simt.kernel(block=32, requires=["len(a) == 32", "len(b) == 32", "len(acc) == 32", "len(out) == 32"])
    def mma(a: simt.Slice, b: simt.Slice, acc: simt.Slice, out: simt.DisjointSlice):
        lane = simt.thread_index()
        if lane < len(out) and a.shape[1] == na and b.shape[1] == nb and acc.shape[1] == nc and out.shape[1] == nc:
            parts = row_of(a, lane, na), row_of(b, lane, nb), row_of(acc, lane, nc)
            found = simt.mma_sync(*parts, shape, a_type, b_dtype=b_type, acc_dtype=acc_type)
            for i in simt.static_range(nc):
                out[lane, i] = found[i]

    return mma


def wgmma_kernel(n: int, k: int, a_type: str, b_type: str, trans_a: bool, trans_b: bool, registers: bool) -> Any:
    """out (128, n / 2) = the words of a @ b.T, both (rows, k); `trans_a`, `trans_b`: (k, rows). a of 64 rows lies in
    shared memory, or is given as words (128, count)."""
    stored = {"tf32": "f32", "u8": "i8"}
    a_stored, b_stored = stored.get(a_type, a_type), stored.get(b_type, b_type)
    a_shape, b_shape = ((k, 64) if trans_a else (64, k)), ((k, n) if trans_b else (n, k))
    integers = b_type in ("i8", "u8")
    width = {"f32": 4, "f16": 2, "bf16": 2}.get(b_stored, 1)
    a_swizzle, b_swizzle = (min(128, shape[1] * width) for shape in (a_shape, b_shape))
    count, words = n // 2, k * width // 8

    @simt.kernel(block=128)
    def product(a: simt.Slice, b: simt.Slice, out: simt.DisjointSlice):
        left = simt.shared(a_shape, a_stored, swizzle=a_swizzle)
        right = simt.shared(b_shape, b_stored, swizzle=b_swizzle)
        me = simt.thread_rank()
        if not registers:
            for i in range(me, a_shape[0] * a_shape[1], 128):
                left[i // a_shape[1], i % a_shape[1]] = a[i // a_shape[1], i % a_shape[1]]
        for i in range(me, b_shape[0] * b_shape[1], 128):
            right[i // b_shape[1], i % b_shape[1]] = b[i // b_shape[1], i % b_shape[1]]
        simt.fence_proxy_async()
        simt.barrier()
        acc = ()
        for _ in simt.static_range(count):
            acc += (simt.i32(0) if integers else simt.f32(0.0),)
        operand = row_of(a, me, words) if registers else left
        acc = simt.wgmma(operand, right, acc, a_type, b_dtype=b_type, trans_a=trans_a, trans_b=trans_b)
        acc = simt.wgmma_wait(acc)
        i = simt.thread_index()
        if i < len(out):
            for j in simt.static_range(count):
                if j < out.shape[1]:
                    out[i, j] = acc[j]

    return product


def tcgen05_kernel(n: int, k: int, a_type: str, b_type: str, trans_a: bool, trans_b: bool) -> Any:
    """out (128, n) = 2 * (a @ b.T), as two products, the second onto the first."""
    a_shape, b_shape = ((k, 128) if trans_a else (128, k)), ((k, n) if trans_b else (n, k))
    width = 2 if a_type in ("f16", "bf16") else 1
    a_swizzle, b_swizzle = (min(128, shape[1] * width) for shape in (a_shape, b_shape))
    columns = max(32, 1 << (n - 1).bit_length())
    count = min(64, n & -n)

    @simt.kernel(block=128)
    def product(a: simt.Slice, b: simt.Slice, out: simt.DisjointSlice["f32", 2]):
        slot, done = simt.shared(1, "i32"), simt.shared(1, "i64")
        left = simt.shared(a_shape, a_type, swizzle=a_swizzle)
        right = simt.shared(b_shape, b_type, swizzle=b_swizzle)
        me = simt.thread_rank()
        if me == 0:
            simt.mbarrier_init(done, 0, 1)
            simt.mbarrier_fence()
        if me < 32:
            simt.tcgen05_alloc(slot, 0, columns)
        for i in range(me, a_shape[0] * a_shape[1], 128):
            left[i // a_shape[1], i % a_shape[1]] = a[i // a_shape[1], i % a_shape[1]]
        for i in range(me, b_shape[0] * b_shape[1], 128):
            right[i // b_shape[1], i % b_shape[1]] = b[i // b_shape[1], i % b_shape[1]]
        simt.fence_proxy_async()
        simt.tcgen05_fence("before")
        simt.barrier()
        simt.tcgen05_fence("after")
        address = slot[0]
        if me == 0:
            simt.tcgen05_mma(address, left, right, False, a_type, b_dtype=b_type, trans_a=trans_a, trans_b=trans_b)
            simt.tcgen05_mma(address, left, right, True, a_type, b_dtype=b_type, trans_a=trans_a, trans_b=trans_b)
            simt.tcgen05_commit(done)
        simt.mbarrier_wait(done, 0, 0)
        simt.tcgen05_fence("after")
        i = simt.thread_index()
        for first in simt.static_range(0, n, count):
            words = simt.tcgen05_wait("ld", simt.tcgen05_ld(address + first, count))
            simt.tcgen05_st(address + first, words)
            simt.tcgen05_wait("st")
            words = simt.tcgen05_wait("ld", simt.tcgen05_ld(address + first, count))
            if i < len(out):
                for j in simt.static_range(count):
                    if first + j < out.shape[1]:
                        out[i, first + j] = simt.bitcast(words[j], simt.f32)
        simt.tcgen05_fence("before")
        simt.barrier()
        if me < 32:
            simt.tcgen05_dealloc(address, columns)

    return product


def tma_kernel(tile: tuple[int, ...], dtype: str, swizzle: int) -> Any:
    """out = x by bulk copies of tiles, the last axis over the blocks of the grid."""
    rank = len(tile)
    index = ", ".join([f"i{axis}" for axis in range(rank - 1)] + ["column"])
    lines = [
        f"tile, bars = simt.shared({tile}, {dtype!r}, swizzle={swizzle}), simt.shared(1, 'i64')",
        f"me, column, phase = simt.thread_rank(), {tile[-1]} * simt.block_idx(), 0",
        "if me == 0:",
        "    simt.mbarrier_init(bars, 0, 1)",
        "    simt.mbarrier_fence()",
        "simt.barrier()",
    ]
    for axis in range(rank - 1):
        lines.append(f"{'    ' * axis}for i{axis} in range(0, x.shape[{axis}], {tile[axis]}):")
    indent = "    " * (rank - 1)
    lines += [
        f"{indent}if me == 0:",
        f"{indent}    simt.mbarrier_arrive_expect_tx(bars, 0, {prod(tile) * DTYPES[dtype].bytes})",
        f"{indent}    simt.tma_load(x, ({index},), tile, bars)",
        f"{indent}simt.mbarrier_wait(bars, 0, phase)",
        f"{indent}phase += 1",
        f"{indent}if me == 0:",
        f"{indent}    simt.tma_store(tile, out, ({index},))",
        f"{indent}    simt.tma_commit()",
        f"{indent}    simt.tma_wait(0)",
        f"{indent}simt.barrier()",
    ]
    parameters = f"x: simt.Slice[{dtype!r}, {rank}], out: simt.DisjointSlice[{dtype!r}, {rank}]"
    return simt_kernel("\n".join(lines), parameters, "block=32, grid_rank=1")


# (tile, extents of the array, element type, swizzle)
TMA_CASES = [
    ((64,), (210,), "f64", 0), ((8, 16), (20, 36), "f32", 64), ((16, 128), (40, 200), "bf16", 128),
    ((4, 8, 64), (7, 11, 96), "i8", 64), ((2, 3, 4, 8), (3, 7, 5, 20), "f32", 32),
    ((2, 1, 3, 2, 16), (3, 2, 4, 3, 24), "f16", 0),
]  # fmt: skip
