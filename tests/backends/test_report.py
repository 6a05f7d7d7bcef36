"""The report's schedule for a GEMM on two GPUs, against figures computed here from the PTX and by hand."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import pytest

from tileopt import tile
from tileopt.backends.nvidia.occupancy import occupancy
from tileopt.backends.nvidia.ptxas import Assembled
from tileopt.backends.nvidia.targets import nvidia_target
from tileopt.backends.schedule_report import schedule
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.target import get_target


@tile.kernel
def gemm(a: tile.In, b: tile.In, c: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]):
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
    tile.store(c, (i, j), acc.astype(c.dtype))


@lru_cache
def compiled(target: str, bn: int) -> Any:
    arrays = dict.fromkeys("abc", "bf16[4096,4096]")
    return gemm.compile(target, **arrays, BM=128, BN=bn, BK=64)


def banks(starts: list[int], width: int) -> int:
    """Wavefronts of one access: byte addresses of the lanes, each of which moves `width` bytes; written out anew."""
    total, phase = 0, 128 // max(width, 4)
    for first in range(0, len(starts), phase):
        per_bank: dict[int, set[int]] = {}
        for start in starts[first : first + phase]:
            for word in {(start + k) // 4 for k in range(width)}:
                per_bank.setdefault(word % 32, set()).add(word)
        total += max(map(len, per_bank.values()))
    return total


def swizzled(row: int, column: int, columns: int, shift: int) -> int:
    """The byte of a bf16 element under CuTe's Swizzle<3, 3, shift>."""
    index = row * columns + column
    return 2 * (index ^ (index >> shift & 7 << 3))


def test_hopper_roles_and_channels() -> None:
    kernel = compiled("sm_90a", 256)
    report, ptx = kernel.report, kernel.ptx
    given = [int(n) for n in re.findall(r"setmaxnreg\.(?:inc|dec)\.sync\.aligned\.u32 (\d+)", ptx)]
    roles = report["roles"]
    assert sorted(given) == sorted(role["registers"] for role in roles.values())
    assert sum(role["warps"] for role in roles.values()) * 32 == report["threads"]
    # All warps of a block begin with an equal share, and setmaxnreg must find its registers there.
    assert sum(role["warps"] * 32 * role["registers"] for role in roles.values()) <= 65536
    (channel,) = report["channels"]
    stage = (128 * 64 + 64 * 256) * 2
    assert channel == {
        "arrays": ["a", "b"],
        "stages": channel["stages"],
        "stage_bytes": stage,
        "by": "TMA load",
        "together": [],
    }
    # A barrier says that a slot is full, another that it is empty.
    assert ptx.count("mbarrier.init") == 2 * channel["stages"]
    epilogue = next(b for b in report["buffers"] if b["arrays"] == ["c"])
    assert report["shared_bytes"] == channel["stages"] * stage + epilogue["bytes"] + 16 * channel["stages"]
    assert report["persistent"] == 1 and "%ctaid" in ptx
    assert {b["layout"] for b in report["buffers"] if b["arrays"] == ["a"]} == {
        "axis 1 fastest, swizzle 3,3,3 over 128 bytes"
    }
    assert report["wgmma_serialised"] == [] and report["spill_stores"] == 0


def test_hopper_epilogue_has_no_conflicts() -> None:
    """The accumulator of wgmma: lane l holds row l / 4 and columns 2 (l mod 4), and eight rows below the next."""
    (access,) = next(b for b in compiled("sm_90a", 256).report["buffers"] if b["arrays"] == ["c"])["accesses"]
    cost = 0
    for column in range(0, 64, 8):
        for half in (0, 8):
            cost += banks([swizzled(half + lane // 4, column + 2 * (lane % 4), 64, 3) for lane in range(32)], 4)
    assert (access["wavefronts"], access["conflicts"]) == (cost, cost - 16 * 64 * 2 // 128)


def test_ampere_buffers() -> None:
    report = compiled("sm_80", 128).report
    assert report["roles"] == {} and report["persistent"] == 0
    (channel,) = report["channels"]
    assert (channel["arrays"], channel["by"], channel["stage_bytes"]) == (["a", "b"], "cp.async", 2 * 128 * 64 * 2)
    assert report["shared_bytes"] == channel["stages"] * channel["stage_bytes"]
    a, b = (next(x for x in report["buffers"] if x["arrays"] == [name]) for name in "ab")
    # Eight warps copy 16 KiB, 16 bytes a lane; a warp's copy is four rows of a, two of b.
    copies = {x["by"]: x for x in a["accesses"]}["cp.async"]
    one = banks([swizzled(lane // 8, lane % 8 * 8, 64, 3) for lane in range(32)], 16)
    assert (copies["wavefronts"], copies["conflicts"]) == (4 * one, 0)
    copies = {x["by"]: x for x in b["accesses"]}["cp.async"]
    one = banks([swizzled(lane // 16, lane % 16 * 8, 128, 4) for lane in range(32)], 16)
    assert (copies["wavefronts"], copies["conflicts"]) == (4 * one, 0)
    # A matrix of ldmatrix is eight rows of 16 bytes; a warp's fragment of b is 64 x 64.
    loads = {x["by"]: x for x in b["accesses"]}["ldmatrix"]
    matrices = 64 * 64 // 64
    one = banks([swizzled(row, 0, 128, 4) for row in range(8)], 16)
    assert (loads["wavefronts"], loads["conflicts"]) == (matrices * one, 0)


def test_occupancy_of_both() -> None:
    hopper, ampere = compiled("sm_90a", 256).report, compiled("sm_80", 128).report
    assert hopper["occupancy"] == {
        "blocks": 1,
        "warps": 12,
        "of_warps": 64,
        "limited_by": ["registers", "shared memory"],  # 168 * 384 of 65536, 225 of 228 KiB
    }
    blocks = (164 * 1024) // (ampere["shared_bytes"] + 1024)
    assert ampere["occupancy"]["blocks"] == blocks == 1
    assert ampere["occupancy"]["warps"] == ampere["threads"] // 32


@pytest.mark.parametrize(
    ("target", "threads", "registers", "shared", "blocks", "limit"),
    [
        ("sm_80", 256, 64, 0, 4, "registers"),
        ("sm_80", 128, 32, 0, 16, "registers"),
        ("sm_80", 128, 33, 0, 12, "registers"),  # 40 a thread, 12 warps in each part
        ("sm_80", 32, 16, 0, 32, "blocks"),
        ("sm_80", 1024, 24, 0, 2, "threads"),
        ("sm_80", 128, 32, 40 * 1024, 4, "shared memory"),
        ("sm_86", 512, 32, 0, 3, "threads"),
        ("sm_89", 32, 32, 0, 24, "blocks"),
        ("sm_75", 256, 32, 32 * 1024, 2, "shared memory"),
        ("sm_90a", 64, 255, 100 * 1024, 2, "shared memory"),
        ("sm_120", 96, 40, 0, 16, "registers"),
        ("sm_80", 1024, 80, 0, 0, "registers"),
    ],
)
def test_occupancy(target: str, threads: int, registers: int, shared: int, blocks: int, limit: str) -> None:
    """By the tables of compute capabilities and the units in which registers and shared memory are given."""
    found = occupancy(nvidia_target(target), threads, registers, shared)
    assert found["blocks"] == blocks
    assert limit in found["limited_by"]  # type: ignore[operator]


CONFLICTS = """
builtin.module attributes {tile.target = "sm_80"} {
  simt.kernel @f() attributes {simt.threads = 32 : i64} {
    %v = arith.constant dense<0.0> : vector<32xf32>
    %s = simt.alloc_shared {offset = 0 : i64} : !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]PAD>>
    simt.shared_store %v, %s {layout = #tile.layout<regs = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = []>} : vector<32xf32>, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]PAD>>
    simt.return
  }
}
"""  # noqa: E501


@pytest.mark.parametrize("pad", [0, 1, 4])
def test_conflicts_are_counted(pad: int) -> None:
    """Each lane writes a row of 32 words, as wide as the padding leaves it aligned."""
    from xdsl.parser import Parser

    from tileopt.dialects.xdsl_compat import create_context

    text = CONFLICTS.replace("PAD", f", pad = {pad}" if pad else "")
    module = Parser(create_context(), text).parse_module()
    kernel = next(op for op in module.walk() if isinstance(op, KernelOp))
    (buffer,) = schedule(kernel, get_target("sm_80"))["buffers"]  # type: ignore[misc, attr-defined]
    (access,) = buffer["accesses"]
    words = {0: 4, 1: 1, 4: 4}[pad]
    cost = sum(banks([4 * (lane * (32 + pad) + k) for lane in range(32)], 4 * words) for k in range(0, 32, words))
    assert (access["wavefronts"], access["conflicts"]) == (cost, cost - 32)
    assert (cost > 32) is (pad == 0)


def test_serialised_products_are_an_entry_of_their_own() -> None:
    line = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x"
    other = "ptxas info    : (C7600) something else"
    log = f"{line} in function 'f'\n{other}\n{line} in function 'f'\n"
    report = Assembled(b"", 1, 0, 0, 0, 0, 0, log).report()
    assert report["wgmma_serialised"] == [line.partition(": ")[2] + " in function 'f'"]


@pytest.mark.parametrize(("target", "bn"), [("sm_90a", 256), ("sm_80", 128)])
def test_it_prints_and_goes_into_json(target: str, bn: int) -> None:
    report = compiled(target, bn).report
    assert json.loads(json.dumps(report)) == report
    lines = str(report).splitlines()
    assert lines[0] == f"gemm for {target}"
    assert f"  block: {report['threads']} threads, {report['shared_bytes']} bytes of shared memory" in lines
    assert any(line.startswith("  channel of a, b: ") for line in lines)
    assert ("  grid: persistent, 1 on each multiprocessor" in lines) is (target == "sm_90a")
    bounds = lines[lines.index("  bounds:") + 1 : lines.index("  ownership:")]
    assert len(bounds) == len(set(report["bounds"])) < len(report["bounds"])


def test_a_cpu_has_no_banks() -> None:
    report = compiled("cpu", 128).report
    assert all(not buffer["accesses"] for buffer in report["buffers"]) and "occupancy" not in report
    assert str(report).startswith("gemm for cpu\n")
