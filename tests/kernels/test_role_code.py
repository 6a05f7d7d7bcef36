"""What ptxas makes of kernels with a producer on sm_90a: no spills, and products that run on while threads work.

ptxas reports where it makes products wait for one another (messages C7510 to C7519): where registers of one in flight
are touched, or there are too few.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from product_programs import accumulator, product, product_nt, product_tf32, tf32_nt
from python_kernels import kernel
from role_programs import HEADS, WIDE, Tile, attention, flash, gemm, matmul, top
from sass import disassembled, loops

import tileopt
from tileopt.dialects.kernel import PERSISTENT

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from attention_backward import key_gradients, query_gradients
from variants import biased_attention, capped_attention, windowed_attention


def assert_good(compiled: Any, atom: str) -> None:
    log = compiled.report["ptxas"]
    assert re.search(r"C75\d\d|serializ", log) is None, log
    assert compiled.report["spill_stores"] == compiled.report["spill_loads"] == compiled.report["stack_bytes"] == 0, log
    assert compiled.report["atoms"] == [atom]
    assert "setmaxnreg.inc" in compiled.ptx and "cp.async.bulk.tensor" in compiled.ptx


def test_the_messages_are_seen() -> None:
    """A product whose accumulators are read before the wait is one that ptxas complains of."""
    from tileopt.backends.nvidia.ptxas import assemble

    ptx = matmul.compile("sm_90a", a=WIDE, b=WIDE, out=WIDE, BM=128, BN=128, BK=64).ptx
    waits = re.findall(r"wgmma\.wait_group\.sync\.aligned \d;", ptx)
    assert waits
    hasty = re.sub(r"wgmma\.wait_group\.sync\.aligned \d;", "", ptx)
    assert re.search(r"C75\d\d", assemble(hasty, "sm_90a").log) is not None


# 64x256 has the accumulators of a thread that two blocks on a multiprocessor would not leave room for; 128x160 is
# stored by threads, through shared memory beside the ring.
GEMMS = [(64, 64, 64), (128, 128, 64), (128, 256, 64), (256, 128, 64), (64, 256, 64), (128, 160, 64)]


@pytest.mark.parametrize("tile", GEMMS, ids=str)
def test_products(tile: Tile) -> None:
    bm, bn, bk = tile
    compiled = matmul.compile("sm_90a", a=WIDE, b=WIDE, out=WIDE, BM=bm, BN=bn, BK=bk)
    assert_good(compiled, f"wgmma_m64n{bn}k16_bf16_f32")


LISTED = """
i, j = tile.bid(0), tile.bid(1)
acc = tile.zeros((BM, BN), tile.f32)
k = 0
while k >= 0:
    acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
    k = tile.load(following, (k,), (1,)).item()
tile.store(out, (i, j), acc.astype(out.dtype))
"""


@pytest.mark.parametrize("tile", [(128, 256, 64), (64, 128, 64)], ids=str)
def test_a_product_over_a_list(tile: Tile) -> None:
    """The next product begins while the last one of the list's iteration before is under way."""
    sizes = dict(zip(("BM", "BN", "BK"), tile, strict=True))
    parameters = ", ".join(
        ["a: tile.In, b: tile.In, following: tile.In, out: tile.Out", *(f"{n}: tile.Const[int]" for n in sizes)]
    )
    compiled = kernel(LISTED, parameters).compile("sm_90a", a=WIDE, b=WIDE, out=WIDE, following="i64[?]", **sizes)
    assert_good(compiled, f"wgmma_m64n{tile[1]}k16_bf16_f32")
    assert re.findall(r"wgmma\.wait_group\.sync\.aligned (\d);", compiled.ptx) == ["1", "0"]


def test_blocks_of_a_multiprocessor() -> None:
    """One consumer warpgroup: two blocks, or three where tiles are so small that each has four slots, and nothing is
    done between products."""
    assert [top(gemm(*tile)).integer(PERSISTENT) for tile in GEMMS] == [3, 1, 1, 1, 1, 1]
    assert top(gemm(64, 64, 128)).integer(PERSISTENT) == 2  # two slots each
    assert top(gemm(64, 128, 64)).integer(PERSISTENT) == 2  # too many registers
    assert top(flash(64, 64, 64, False)).integer(PERSISTENT) == 2  # scores and sums


@pytest.mark.parametrize("kind", ["f8e4m3fn", "f8e5m2", "i8", "u8"])
@pytest.mark.parametrize("tile", [(128, 256, 128), (64, 64, 64), (128, 160, 256)], ids=str)
def test_products_of_bytes(kind: str, tile: Tile) -> None:
    arrays = {"a": f"{kind}[?:16, ?:16]", "b": f"{kind}[?:16, ?:16]", "out": f"{accumulator(kind)}[?:16, ?:16]"}
    compiled = product_nt.compile("sm_90a", **arrays, **dict(zip(("BM", "BN", "BK"), tile, strict=True)))
    assert_good(compiled, f"wgmma_m64n{tile[1]}k32_{kind}_{accumulator(kind)}")


@pytest.mark.parametrize("kind", ["f8e4m3fn", "f8e5m2", "i8", "u8", "f32"])
@pytest.mark.parametrize("tile", [(128, 256, 128), (256, 128, 128), (64, 128, 64), (96, 128, 64)], ids=str)
def test_products_with_n_side_by_side(kind: str, tile: Tile) -> None:
    """b becomes the left operand, by way of registers: bytes are turned on the way."""
    bm, bn, bk = tile
    bk = bk // 4 if kind == "f32" else bk
    array = f"{kind}[?:16, ?:16]"
    kernel = product_tf32 if kind == "f32" else product
    compiled = kernel.compile("sm_90a", a=array, b=array, out=f"{accumulator(kind)}[?:16, ?:16]", BM=bm, BN=bn, BK=bk)
    name, depth = ("tf32", 8) if kind == "f32" else (kind, 32)
    assert_good(compiled, f"wgmma_m64n{bm}k{depth}_{name}_{accumulator(kind)}")
    if kind != "f32":
        assert "ldmatrix.sync.aligned.m8n8.x4.trans" in compiled.ptx and "prmt" in compiled.ptx
        assert re.search(r"ld\.shared\.\w*8", compiled.ptx) is None


@pytest.mark.parametrize("tile", [(8, 64, 128), (16, 128, 64), (40, 64, 64), (32, 256, 64)], ids=str)
def test_products_of_few_rows(tile: Tile) -> None:
    bm, bn, bk = tile
    compiled = product_nt.compile("sm_90a", a=WIDE, b=WIDE, out=WIDE.replace("bf16", "f32"), BM=bm, BN=bn, BK=bk)
    assert_good(compiled, f"wgmma_m64n{bm}k16_bf16_f32")


@pytest.mark.parametrize("tile", [(128, 256, 32), (64, 64, 32), (128, 160, 64)], ids=str)
def test_products_of_tf32(tile: Tile) -> None:
    arrays = dict.fromkeys(("a", "b", "out"), "f32[?:4, ?:4]")
    compiled = tf32_nt.compile("sm_90a", **arrays, **dict(zip(("BM", "BN", "BK"), tile, strict=True)))
    assert_good(compiled, f"wgmma_m64n{tile[1]}k8_tf32_f32")


@pytest.mark.parametrize(("bm", "bn", "late"), [(128, 128, True), (128, 192, False), (128, 64, True), (64, 128, True)])
def test_late_waits_where_registers_allow_it(bm: int, bn: int, late: bool) -> None:
    arrays = dict.fromkeys(["q", "k", "v", "out"], HEADS)
    compiled = attention.compile("sm_90a", **arrays, scale="f32", BM=bm, BN=bn, D=64, CAUSAL=False)
    assert re.search(r"C75\d\d|serializ", compiled.report["ptxas"]) is None
    assert ("pipe.late" in compiled.ir("layout")) == late
    if bm == 128:
        assert compiled.report["spill_stores"] == compiled.report["stack_bytes"] == 0


@pytest.mark.parametrize(("bm", "bn", "d"), [(128, 128, 128), (128, 64, 64), (64, 64, 64)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(bm: int, bn: int, d: int, causal: bool) -> None:
    arrays = dict.fromkeys(["q", "k", "v", "out"], HEADS)
    compiled = attention.compile("sm_90a", **arrays, scale="f32", BM=bm, BN=bn, D=d, CAUSAL=causal)
    assert_good(compiled, f"wgmma_m64n{d}k16_bf16_f32")


# Rows of tiles, columns, head dimension. The products of dk and dv fill the registers at d = 128.
BACKWARD = [(key_gradients, 64, 128, 128), (key_gradients, 64, 128, 64), (query_gradients, 128, 64, 128)]


@pytest.mark.parametrize(("kernel", "bm", "bn", "d"), BACKWARD)
@pytest.mark.parametrize("causal", [False, True])
def test_attention_backward(kernel: Any, bm: int, bn: int, d: int, causal: bool, tmp_path: Path) -> None:
    """No product waits for ptxas's sake, and the loops over products spill nothing; what goes around them may."""
    arrays = dict.fromkeys(["q", "k", "v", "dout"], HEADS) | dict.fromkeys(["lse", "delta"], "f32[?,?:4]")
    arrays |= dict.fromkeys(["dk", "dv"] if kernel is key_gradients else ["dq"], HEADS)
    compiled = kernel.compile("sm_90a", **arrays, scale="f32", BM=bm, BN=bn, D=d, CAUSAL=causal)
    log = compiled.report["ptxas"]
    assert re.search(r"C75\d\d|serializ", log) is None, log
    found = loops(disassembled(compiled, tmp_path), "HGMMA")
    assert found and not any(word in ("LDL", "STL", "R2UR") for loop in found for word in loop)
    copied = set(re.findall(r"pipe.copy %(\w+)", compiled.ir("layout")))
    assert copied == {"q", "k", "v", "dout"} | ({"lse", "delta"} if kernel is key_gradients else set())


@pytest.mark.parametrize(
    ("tile", "hint", "blocks"), [((64, 128, 128), None, 1), ((64, 64, 64), 1, 1), ((64, 64, 64), 2, 2)], ids=str
)
def test_a_block_alone(tile: Tile, hint: int | None, blocks: int) -> None:
    """One alone, where two have no memory for two slots each, or where the hint says so."""
    bm, bn, bk = tile
    hinted = tileopt.tile.kernel(occupancy=hint)(product_nt.function) if hint else product_nt
    compiled = hinted.compile("sm_90a", a=WIDE, b=WIDE, out="f32[?:16, ?:16]", BM=bm, BN=bn, BK=bk)
    assert_good(compiled, f"wgmma_m64n{bn}k16_bf16_f32")
    assert compiled.report["persistent"] == blocks
    assert all(channel["stages"] >= 2 for channel in compiled.report["channels"])


@pytest.mark.parametrize(("bn", "d"), [(64, 128), (128, 64)])
@pytest.mark.parametrize("kernel", [biased_attention, windowed_attention, capped_attention])
def test_attention_whose_scores_are_changed(kernel: Any, bn: int, d: int, tmp_path: Path) -> None:
    """The bias comes by the engine too; and between the edges of a window no loop compares."""
    arrays = dict.fromkeys(["q", "k", "v", "out"], HEADS) | {"scale": "f32", "BM": 128, "BN": bn, "D": d}
    arrays |= {"bias": HEADS} if kernel is biased_attention else {"window": "i64"}
    compiled = kernel.compile("sm_90a", **arrays, **({"cap": "f32"} if kernel is capped_attention else {}))
    log = compiled.report["ptxas"]
    assert re.search(r"C75\d\d|serializ", log) is None, log
    assert compiled.report["spill_stores"] == compiled.report["spill_loads"] == 0, log
    copied = set(re.findall(r"pipe.copy %(\w+)", compiled.ir("layout")))
    assert copied == {"q", "k", "v"} | ({"bias"} if kernel is biased_attention else set())
    assert min(sum("FSEL" in one for one in loop) for loop in loops(disassembled(compiled, tmp_path), "HGMMA")) == 0


@pytest.mark.parametrize("kind", ["f8e4m3fn", "i8", "f32"])
def test_warps_hold_their_operands(kind: str) -> None:
    """mma.sync reads operands from registers, which three blocks of a multiprocessor would not leave a thread."""
    array = f"{kind}[?:16, ?:16]"
    given = {"a": array, "b": array, "out": f"{accumulator(kind)}[?:16, ?:16]"}
    for multiplied in (product_tf32, tf32_nt) if kind == "f32" else (product, product_nt):
        report = multiplied.compile("sm_90a", **given, BM=48, BN=96, BK=16).report
        assert report["atoms"][0].startswith("mma_") and report["persistent"] == 2
        assert report["spill_stores"] == report["spill_loads"] == 0


def test_what_threads_write_into_accumulators_stands_before_the_fence() -> None:
    """Faded sums go through the fence in front of the product that adds to them; accumulators that begin at zero, or
    that only products write, do not."""
    arrays = dict.fromkeys(["q", "k", "v", "out"], HEADS)
    faded = attention.compile("sm_90a", **arrays, scale="f32", BM=128, BN=128, D=128, CAUSAL=False).llvm
    summed = matmul.compile("sm_90a", a=WIDE, b=WIDE, out=WIDE, BM=128, BN=128, BK=64).llvm
    through = 'asm sideeffect "wgmma.fence.sync.aligned;", "=f'
    assert through in faded and 'asm sideeffect "wgmma.fence.sync.aligned;", "~{memory}"' in faded
    assert through not in summed and "shfl.sync.idx" in summed  # the warpgroup's number, the same in all lanes
