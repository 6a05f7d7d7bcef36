"""PTX of the hardware's own instructions: each is there under its name, and ptxas takes it for its architectures."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hardware_programs import MMA_ROWS, TMA_CASES, mma_kernel, mma_name, tcgen05_kernel, tma_kernel, wgmma_kernel

from tileopt import TileoptError, simt
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_mma_shapes import MmaShape

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "simt"))

from cluster_ring import ring_sum
from inline_ptx import differences
from matrix_transpose import matrix_transpose
from tensor_core_product import tensor_core_product
from tma_pipeline import column_sums

PTX = {"f8e4m3fn": "e4m3", "f8e5m2": "e5m2", "i8": "s8", "i4": "s4", "i32": "s32"}
ALL = ("sm_80", "sm_90a", "sm_100a", "sm_120a")


def made(kernel: Any, target: str, **given: object) -> str:
    """The PTX, which ptxas has assembled without spills; for sm_120a it keeps a predicate or two in memory."""
    compiled = kernel.compile(target, **given)
    assert len(compiled.cubin) > 1000 and compiled.report["spill_stores"] <= (8 if target == "sm_120a" else 0)
    ptx: str = compiled.ptx
    return ptx


@pytest.mark.parametrize("row", MMA_ROWS, ids=mma_name)
def test_mma_sync(row: tuple[MmaShape, str, str, str]) -> None:
    shape, a, b, acc = row
    word = "f64" if a == "f64" else "u32"
    given = {"a": f"{word}[?,?]", "b": f"{word}[?,?]", "acc": f"{'u32' if acc == 'f16' else acc}[?,?]"}
    given["out"] = given["acc"]
    d = PTX.get(acc, acc)
    name = f"mma.sync.aligned.{shape.name}.row.col.{d}.{PTX.get(a, a)}.{PTX.get(b, b)}.{d}"
    first = f"sm_{shape.min_arch}" + ("a" if shape.min_arch == 90 else "")
    for target in (first, "sm_120a"):
        assert name in made(mma_kernel(*row), target, **given)
    before = {75: None, 80: "sm_75", 89: "sm_87", 90: "sm_89"}[shape.min_arch]
    if before is not None:
        with pytest.raises(TileoptError) as caught:
            mma_kernel(*row).compile(before, **given)
        assert caught.value.code == "target/unsupported-mma" and caught.value.location is not None


@pytest.mark.parametrize(
    ("a_type", "b_type", "name"),
    [("f16", "f16", "f32.f16.f16"), ("bf16", "bf16", "f32.bf16.bf16"), ("tf32", "tf32", "f32.tf32.tf32"),
     ("f8e4m3fn", "f8e5m2", "f32.e4m3.e5m2"), ("i8", "u8", "s32.s8.u8")],
)  # fmt: skip
@pytest.mark.parametrize("registers", [False, True])
def test_wgmma(a_type: str, b_type: str, name: str, registers: bool) -> None:
    stored = {"tf32": "f32", "u8": "i8"}
    given = {"a": "u32[?,?]" if registers else f"{stored.get(a_type, a_type)}[?,?]"}
    given |= {"b": f"{stored.get(b_type, b_type)}[?,?]", "out": "i32[?,?]" if b_type == "u8" else "f32[?,?]"}
    kernel = wgmma_kernel(64, 64, a_type, b_type, False, False, registers)
    ptx = made(kernel, "sm_90a", **given)
    depth = {"f16": 16, "bf16": 16, "tf32": 8}.get(a_type, 32)
    assert len(re.findall(rf"wgmma\.mma_async\.sync\.aligned\.m64n64k{depth}\.{name} ", ptx)) == 64 // depth
    for word in ("wgmma.fence", "wgmma.commit_group", "wgmma.wait_group", "fence.proxy.async.shared::cta"):
        assert word in ptx
    for target in ("sm_80", "sm_90", "sm_100a"):
        with pytest.raises(TileoptError) as caught:
            kernel.compile(target, **given)
        assert caught.value.code.startswith("target/unsupported-")


@pytest.mark.parametrize("target", ["sm_100a", "sm_103a"])
@pytest.mark.parametrize(("kind", "types"), [("f16", ("bf16", "bf16")), ("f8f6f4", ("f8e5m2", "f8e4m3fn"))])
def test_tcgen05(target: str, kind: str, types: tuple[str, str]) -> None:
    kernel = tcgen05_kernel(64, 64, *types, False, False)
    ptx = made(kernel, target, a=f"{types[0]}[?,?]", b=f"{types[1]}[?,?]", out="f32[?,?]")
    words = ("alloc", "dealloc", f"mma.cta_group::1.kind::{kind}", "commit", "ld.sync.aligned.32x32b.x64", "wait::ld")
    words += ("st.sync.aligned.32x32b.x64", "wait::st", "fence::before_thread_sync", "fence::after_thread_sync")
    assert all(f"tcgen05.{word}" in ptx for word in words)
    assert re.search(r"shl\.b32 \s*%r\d+, %r\d+, 21|and\.b32 .*6291456|bfi\.b32", ptx)  # each warp's own lanes


def test_tcgen05_elsewhere() -> None:
    kernel = tcgen05_kernel(64, 64, "f16", "f16", False, False)
    for target in ("sm_90a", "sm_100", "sm_120a"):
        with pytest.raises(TileoptError) as caught:
            kernel.compile(target, a="f16[?,?]", b="f16[?,?]", out="f32[?,?]")
        assert caught.value.code == "target/unsupported-tcgen05"


@pytest.mark.parametrize("target", ALL)
def test_tensor_core_product(target: str) -> None:
    ptx = made(tensor_core_product, target, a="bf16[?,?]", b="bf16[?,?]", c="f32[?,?]")
    for word in ("cp.async.cg.shared.global", "cp.async.commit_group", "cp.async.wait_group 1", "mma.sync.aligned"):
        assert word in ptx
    assert "ldmatrix.sync.aligned.m8n8.x4.shared" in ptx and "ldmatrix.sync.aligned.m8n8.x4.trans.shared" in ptx
    assert "trap" not in ptx  # every access is proved


@pytest.mark.parametrize("target", ALL[1:])
def test_later_programs(target: str) -> None:
    ptx = made(column_sums, target, x="f32[?, ?:4]", out="f32[?]")
    for word in ("mbarrier.init", "mbarrier.arrive.expect_tx", "mbarrier.try_wait.parity", "cp.async.bulk.tensor.2d"):
        assert word in ptx
    ptx = made(ring_sum, target, x="i32[?]", out="i32[?]")
    for word in (
        "barrier.cluster.arrive.release",
        "barrier.cluster.wait.acquire",
        "mapa.shared::cluster",
        ".explicitcluster",
    ):
        assert word in ptx
    assert "st.shared::cluster.b32" in ptx and ".reqnctapercluster 4" in ptx
    ptx = made(matrix_transpose, target, x="f16[?,?]", out="f16[?,?]")
    assert "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16" in ptx


@pytest.mark.parametrize("case", TMA_CASES, ids=lambda c: f"{len(c[0])}d-{c[2]}-{c[3]}")
def test_tma_of_all_ranks(case: tuple[tuple[int, ...], tuple[int, ...], str, int]) -> None:
    tile, _, dtype, swizzle = case
    unit = 128 // DTYPES[dtype].bits
    spec = f"{dtype}[{', '.join(['?'] * (len(tile) - 1) + [f'?:{unit}'])}]"
    ptx = made(tma_kernel(tile, dtype, swizzle), "sm_90a", x=spec, out=spec)
    for word in ("shared::cluster.global.mbarrier::complete_tx::bytes", "global.shared::cta.bulk_group"):
        assert f"cp.async.bulk.tensor.{len(tile)}d.{word}" in ptx


@pytest.mark.parametrize("target", ALL)
def test_inline_ptx(target: str) -> None:
    ptx = made(differences, target, x="u32[?]", y="u32[?]", out="u32[?]")
    assert ptx.count("vabsdiff4.u32.u32.u32.add") == 1
    assert not re.search(r"\b(max|min)\.", ptx)  # what the CPU runs is not there


@simt.kernel(block=256, cluster=(2, 2), grid_rank=2)
def everything_else(x: simt.Slice["i8", 1], out: simt.DisjointSlice["i8", 1]):
    """What no other program here uses."""
    bars, box = simt.shared(2, "i64"), simt.shared(256, "i8")
    bits, half = simt.shared(4, "f16"), simt.shared(4, "bool")
    me = simt.thread_rank()
    if me == 0:
        simt.mbarrier_init(bars, 0, 4)
        simt.mbarrier_init(bars, 1, 2)
        simt.mbarrier_fence()
    simt.cluster_arrive()
    simt.cluster_wait()
    if me < 128:
        simt.setmaxnreg(40, increase=False)
        simt.named_barrier(1, 128)
    else:
        simt.setmaxnreg(104, increase=True)
        simt.named_barrier(2, 128)
    other = (simt.cluster_rank() + 1) % simt.cluster_size()
    there = simt.map_shared(box, other)
    there[me] = simt.i8(me % 100)
    simt.map_shared(half, other)[me % 4] = True
    simt.map_shared(bits, other)[me % 4] = simt.f16(1.0)
    if me == 0:
        simt.mbarrier_arrive(simt.map_shared(bars, other), 1)
        simt.mbarrier_arrive(bars, 1)
    ended = simt.mbarrier_try_wait(bars, 1, 0)
    while not ended:
        ended = simt.mbarrier_try_wait(bars, 1, 0)
    simt.cluster_barrier()
    value = there[me] + simt.where(simt.map_shared(half, other)[0], simt.i8(1), simt.i8(0))
    value += simt.i8(simt.map_shared(bits, other)[1])
    if me == 0:
        simt.mbarrier_inval(bars, 0)
    simt.cluster_barrier()
    i = simt.block_rank() * 256 + me
    if i < len(out):
        out[i] = value


def test_everything_else() -> None:
    ptx = made(everything_else, "sm_90a", x="i8[?]", out="i8[?]")
    for word in ("setmaxnreg.dec", "setmaxnreg.inc", "bar.sync", "mbarrier.inval", "ld.shared::cluster.b8"):
        assert word in ptx or word.replace("bar.sync", "barrier") in ptx
    assert "mbarrier.arrive.release.cluster.shared::cluster.b64" in ptx
    for target in ("sm_100a", "sm_120a"):
        made(everything_else, target, x="i8[?]", out="i8[?]")


def test_everything_else_on_the_cpu() -> None:
    import numpy as np

    x, out = np.zeros(8 * 256, np.int8), np.zeros(8 * 256, np.int8)
    everything_else[2, 4](x, out)
    np.testing.assert_array_equal(out, np.tile(np.arange(256) % 100 + 2, 8).astype(np.int8))
