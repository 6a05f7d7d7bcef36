"""Configurations that a target does not run, or not as asked: refused by name before LLVM with what would fit, or told
in the report."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tileopt import TileoptError, simt, tile
from tileopt.backends import pipelines


def gemm(**hints: Any) -> Any:
    @tile.kernel(**hints)
    def gemm(a: tile.In, b: tile.In, c: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
        i, j = tile.bid(0), tile.bid(1)
        acc = tile.zeros((BM, BN), tile.f32)
        for k in range(tile.cdiv(a.shape[1], BK)):
            acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
        tile.store(c, (i, j), acc.astype(c.dtype))

    return gemm


def compile_gemm(target: str, m: int, n: int, k: int, dtype: str = "bf16", **hints: Any) -> Any:
    a = f"{dtype}[4096,4096]"
    return gemm(**hints).compile(target, a=a, b=a, c="f32[4096,4096]", BM=m, BN=n, BK=k)


def compile_two_sums(target: str, m: int, n: int, **hints: Any) -> Any:
    @tile.kernel(**hints)
    def gated(a: tile.In, b: tile.In, g: tile.In, c: tile.Out, BM: tile.Const[int], BN: tile.Const[int]):
        i, j = tile.bid(0), tile.bid(1)
        p = tile.zeros((BM, BN), tile.f32)
        q = tile.zeros((BM, BN), tile.f32)
        for k in range(tile.cdiv(a.shape[1], 64)):
            x = tile.load(a, (i, k), (BM, 64))
            p = tile.mma(x, tile.load(b, (k, j), (64, BN)), p)
            q = tile.mma(x, tile.load(g, (k, j), (64, BN)), q)
        tile.store(c, (i, j), (p * q).astype(c.dtype))

    a = "bf16[4096,4096]"
    return gated.compile(target, a=a, b=a, g=a, c=a, BM=m, BN=n)


@tile.kernel
def turn(x: tile.In, out: tile.Out, N: tile.Const[int]):
    tile.store(out, (0, tile.bid(0)), tile.transpose(tile.load(x, (tile.bid(0), 0), (N, N))))


def compile_turn(n: int, target: str = "sm_86") -> Any:
    return turn.compile(target, x="f32[4096,4096]", out="f32[4096,4096]", N=n)


def compile_shared(target: str, count: int, dynamic: int = 0, **contract: Any) -> Any:
    @simt.kernel(block=contract.pop("block", 256), shared_bytes=dynamic, **contract)
    def shared(x: simt.DisjointSlice["f32", 1]):
        t = simt.shared(count, simt.f32)
        t[simt.thread_idx(0)] = 1.0
        simt.barrier()
        i = simt.thread_index()
        if i < len(x):
            x[i] = t[0]

    return shared.compile(target, x="f32[?]")


def compile_dynamic(target: str, dynamic: int) -> Any:
    @simt.kernel(block=64, shared_bytes=dynamic)
    def fill(x: simt.DisjointSlice["f32", 1]):
        i = simt.thread_index()
        if i < len(x):
            x[i] = 1.0

    return fill.compile(target, x="f32[?]")


REFUSED: dict[str, tuple[Callable[[], Any], str, tuple[str, ...]]] = {
    "an accumulator for no thread": (
        lambda: compile_gemm("sm_80", 512, 512, 32),
        "limits/tile-registers",
        ("512x512xf32 takes 512 registers of each of 512 threads", "at most 65536 elements of f32"),
    ),
    "an accumulator for one warp": (
        lambda: compile_gemm("sm_90a", 256, 128, 64, num_warps=1),
        "limits/tile-registers",
        ("256x128xf32 takes 1024 registers of each of 32 threads", "at most 4096 elements of f32 with 32 threads"),
    ),
    "two accumulators for no thread": (
        lambda: compile_two_sums("sm_90a", 128, 256),
        "limits/tile-registers",
        ("128x256xf32, 128x256xf32) take 256 registers of each of 256 threads", "at most 61184 elements of f32"),
    ),
    "two accumulators for four warps": (
        lambda: compile_two_sums("sm_90a", 64, 256, num_warps=4),
        "limits/tile-registers",
        ("64x256xf32, 64x256xf32) take 256 registers of each of 128 threads", "at most 30592 elements of f32"),
    ),
    "operands wider than registers": (
        lambda: compile_gemm("sm_90a", 128, 256, 1024),
        "limits/tile-registers",
        ("128x1024xbf16 takes 256 registers", "at most 65536 elements of bf16"),
    ),
    "a tile turned in shared memory": (
        lambda: compile_turn(256),
        "target/shared-memory",
        ("needs 262144 bytes", "sm_86 has 101376", "fits with 25344 elements of f32"),
    ),
    "threads' shared memory": (
        lambda: compile_shared("sm_90a", 100_000),
        "target/shared-memory",
        ("needs 400000 bytes", "sm_90a has 232448", "fits with 58112 elements of f32"),
    ),
    "static and dynamic shared memory": (
        lambda: compile_shared("sm_90a", 30_000, 200_000),
        "target/shared-memory",
        ("200000 bytes of dynamic shared memory", "fits with 8112 elements of f32"),
    ),
    "dynamic shared memory alone": (
        lambda: compile_dynamic("sm_80", 166_913),
        "target/shared-memory",
        ("needs 166913 bytes", "sm_80 has 166912", "less dynamic shared memory"),
    ),
    "clusters": (lambda: compile_shared("sm_80", 8, cluster=2), "target/cluster", ("sm_80 has no clusters", "sm_90")),
    "more threads than a block has": (
        lambda: compile_shared("sm_80", 8, block=2048),
        "kernel/contract",
        ("2048, more than 1024",),
    ),
    "warps that are no power of two": (
        lambda: compile_gemm("sm_80", 64, 64, 32, num_warps=6),
        "kernel/hint",
        ("a power of two up to 32", "not 6"),
    ),
    "more stages than are any": (
        lambda: compile_gemm("sm_80", 64, 64, 32, num_stages=17),
        "kernel/hint",
        ("an integer from 1 to 16", "not 17"),
    ),
    "a later architecture's kernel": (
        lambda: compile_shared("sm_80", 8, min_arch="sm_90"),
        "target/too-old",
        ("sm_90", "sm_80"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_before_llvm(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, code, texts = REFUSED[case]
    monkeypatch.setattr(pipelines, "emit_ptx", lambda *args: pytest.fail("LLVM was asked"))
    with pytest.raises(TileoptError) as caught:
        make()
    assert caught.value.code == code
    for text in texts:
        assert text in str(caught.value)


def advised(error: TileoptError) -> int:
    found = re.search(r"fits with (\d+) elements", str(error))
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("dynamic", [0, 77_777, 200_000])
@pytest.mark.parametrize("target", ["sm_75", "sm_86", "sm_90a"])
def test_what_is_said_to_fit_fits(target: str, dynamic: int) -> None:
    """And not one 16-byte unit more."""
    if dynamic > pipelines.get_target(target).shared_bytes:
        with pytest.raises(TileoptError, match="make the tiles smaller"):
            compile_shared(target, 1, dynamic)
        return
    with pytest.raises(TileoptError) as caught:
        compile_shared(target, 123_456, dynamic)
    most = advised(caught.value)
    compile_shared(target, most // 4 * 4, dynamic)
    with pytest.raises(TileoptError, match="target/shared-memory"):
        compile_shared(target, most // 4 * 4 + 4, dynamic)


def test_the_largest_turned_tile_fits() -> None:
    with pytest.raises(TileoptError) as caught:
        compile_turn(256)
    n = 2 ** int(advised(caught.value) ** 0.5).bit_length() // 2
    assert compile_turn(n).report["shared_bytes"] <= 101376


def notes(kernel: Any) -> str:
    return "\n".join(kernel.report["notes"])


@pytest.mark.parametrize(("target", "asked"), [("sm_90a", 16), ("sm_80", 8)])
def test_the_report_says_how_many_stages_there_are(target: str, asked: int) -> None:
    kernel = compile_gemm(target, 128, 128, 64, num_stages=asked)
    (channel,) = kernel.report["channels"]
    made, each = channel["stages"], channel["stage_bytes"]
    assert made < asked and f"num_stages={asked}: loops have {made}" in notes(kernel)
    room = pipelines.get_target(target).shared_bytes
    assert made * each <= room
    assert not notes(compile_gemm(target, 128, 128, 64, num_stages=made))
    assert notes(kernel) in str(kernel.report).replace("    ", "")


def test_stages_where_nothing_is_asynchronous() -> None:
    assert "sm_75 has no asynchronous copies" in notes(compile_gemm("sm_75", 64, 64, 32, "f16", num_stages=4))
    assert not notes(compile_gemm("sm_75", 64, 64, 32, "f16", num_stages=1))


@pytest.mark.parametrize(
    ("target", "dtype", "text"),
    [
        ("sm_80", "f8e4m3fn", "a product of f8E4M3FN by fused multiply-adds: sm_80 has matrix units for"),
        ("sm_75", "bf16", "a product of bf16 by fused multiply-adds: sm_75 has matrix units for f16"),
        ("sm_80", "bf16", ""),
        ("cpu", "bf16", ""),
    ],
)
def test_products_that_no_unit_takes(target: str, dtype: str, text: str) -> None:
    found = notes(compile_gemm(target, 64, 64, 32, dtype))
    assert (text in found) if text else not found


def test_more_warps_where_accumulators_leave_no_room() -> None:
    """Four warps would hold nothing but the two accumulators."""
    report = compile_two_sums("sm_90a", 64, 256).report
    assert report["threads"] >= 256 and report["spill_stores"] == report["spill_loads"] == 0
