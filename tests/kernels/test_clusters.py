"""Tile kernels whose blocks form clusters and load together what they share (the hint `num_ctas`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Device
from python_kernels import kernel as python_kernel

import tileopt
from tileopt import tile
from tileopt.dialects.diagnostics import LaunchError, UnsupportedError

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from attention import attention
from matmul import matmul

WIDE, HEADS = "bf16[?:16, ?:16]", "bf16[?, ?:16, ?:16]"


def target_of(device: Device) -> str | None:
    """On a CPU the model of a GPU that has clusters."""
    return "model:sm_90a" if device.name == "cpu" else None


def fresh(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(500, 136, 200), (512, 264, 320)])
def test_product(device: Device, rng: np.random.Generator, m: int, n: int, k: int, transposed: bool, size: int) -> None:
    device.needs(90, exactly=(90,))
    a, b = fresh(rng, m, k), fresh(rng, k, n)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    given = np.ascontiguousarray(b.T).T if transposed else b
    out = device.empty((m, n), np.float32)
    grid = (tileopt.cdiv(m, 128), tileopt.cdiv(n, 128))
    kernel = matmul.with_hints(num_ctas=size)
    kernel[grid](device.put(a), device.put(given), out, BM=128, BN=128, BK=64, target=target_of(device))
    np.testing.assert_allclose(device.get(out), wanted, rtol=0, atol=2e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("causal", [False, True])
def test_attention(device: Device, rng: np.random.Generator, causal: bool) -> None:
    device.needs(90, exactly=(90,))
    heads, rows, d = 2, 256, 64
    q, k, v = (fresh(rng, heads, rows, d) for _ in range(3))
    out = device.empty((heads, rows, d), ml_dtypes.bfloat16)
    kernel = attention.with_hints(num_ctas=2)[(rows // 64, heads)]
    scale, target = float(0.125 * np.log2(np.e)), target_of(device)
    kernel(*map(device.put, (q, k, v)), out, scale, BM=64, BN=64, D=d, CAUSAL=causal, target=target)
    scores = 0.125 * (q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1))
    if causal:
        scores = np.where(np.tril(np.ones((rows, rows), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    wanted = weights / weights.sum(axis=-1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(device.get(out).astype(np.float64), wanted, rtol=0, atol=0.02)


def compiled(kernel: Any, target: str = "sm_90a", **given: Any) -> Any:
    return kernel.compile(target, a=WIDE, b=WIDE, out=WIDE, **{"BM": 128, "BN": 256, "BK": 64, **given})


def test_what_a_product_shares() -> None:
    """Neighbours along axis 0 read other rows of a and the same columns of b."""
    made = compiled(matmul.with_hints(num_ctas=2))
    assert made.report["cluster"] == 2
    (channel,) = made.report["channels"]
    assert channel["arrays"] == ["a", "b"] and channel["together"] == ["b"]
    assert ".reqnctapercluster 2, 1, 1" in made.ptx
    copies = [line for line in made.ptx.splitlines() if "cp.async.bulk.tensor" in line and ".global.mbarrier" in line]
    panels = sum("multicast::cluster" in line for line in copies)
    assert panels == 4 * (len(copies) - panels)  # b's 64 x 256 lies in four panels, a's 128 x 64 in one
    assert not made.report["wgmma_serialised"] and not made.report["spill_stores"] and not made.report["notes"]


@pytest.mark.parametrize("causal", [False, True])
def test_what_attention_shares(causal: bool) -> None:
    """Blocks of one head read the same keys and values; the causal order takes blocks of one length, of other heads."""
    given = {**dict.fromkeys("qkv", HEADS), "out": HEADS, "scale": "f32", "BM": 128, "BN": 128, "D": 128}
    report = attention.with_hints(num_ctas=2).compile("sm_90a", **given, CAUSAL=causal).report
    together = {tuple(channel["arrays"]): channel["together"] for channel in report["channels"]}
    shared = [] if causal else ["k"], [] if causal else ["v"], []
    assert [together["k",], together["v",], together["q",]] == list(shared)
    assert report["cluster"] == (1 if causal else 2) and bool(report["notes"]) is causal
    assert not report["wgmma_serialised"] and not report["spill_stores"]


def test_without_the_hint_blocks_come_alone() -> None:
    made = compiled(matmul)
    assert made.report["cluster"] == 1 and "cluster" not in made.ptx.replace("shared::cluster", "").replace(
        "init.release.cluster", ""
    )


def test_the_grid_has_whole_clusters(rng: np.random.Generator) -> None:
    a, b, out = fresh(rng, 320, 64), fresh(rng, 64, 128), np.zeros((320, 128), np.float32)
    with pytest.raises(LaunchError) as caught:
        matmul.with_hints(num_ctas=2)[(3, 1)](a, b, out, BM=128, BN=128, BK=64, target="model:sm_90a")
    assert caught.value.code == "launch/condition" and not out.any()
    assert "clusters of 2 along axis 0 of the grid, which has 3 there" in caught.value.message
    assert caught.value.help == "launch a multiple of 2 blocks along it, or leave num_ctas= or cluster= out"


def test_why_there_are_no_clusters(rng: np.random.Generator) -> None:
    """The grid may then have any number of blocks."""
    odd = matmul.with_hints(num_ctas=2).compile("sm_90a", a="bf16[?, ?]", b="bf16[?, ?]", out="f32[?, ?]")
    assert odd.report["notes"] == [
        "num_ctas=2: blocks load nothing together: no warp of its own copies what loops load"
    ]
    a, b, out = fresh(rng, 190, 65), fresh(rng, 65, 63), np.zeros((190, 63), np.float32)
    matmul.with_hints(num_ctas=2)[(3, 1)](a, b, out, BM=64, BN=64, BK=64, target="model:sm_90a")
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), rtol=0, atol=1e-4)


def test_a_gpu_without_clusters() -> None:
    with pytest.raises(UnsupportedError, match="sm_80 has no clusters of blocks") as caught:
        compiled(matmul.with_hints(num_ctas=2), "sm_80")
    assert caught.value.code == "kernel/num-ctas" and caught.value.location is not None


@pytest.mark.parametrize("bad", [0, 3, 16, -2, True, 2.0, "2"])
def test_hints_that_are_none(bad: Any) -> None:
    with pytest.raises(tileopt.CompileError, match="num_ctas is a power of two up to 8") as caught:
        tile.kernel(num_ctas=bad)
    assert caught.value.code == "kernel/hint"


LISTED = """
i, j = tile.bid(0), tile.bid(1)
acc = tile.zeros((BM, BN), tile.f32)
k = 0
while TEST:
    acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
    k = NEXT
tile.store(out, (i, j), acc.astype(out.dtype))
"""


@pytest.mark.parametrize(("row", "shared"), [("0", ["b"]), ("i", [])])
@pytest.mark.parametrize(("test", "after"), [("k >= 0", "READ"), ("READ > 0", "k + 1")])
def test_blocks_that_share_go_through_the_same_loop(row: str, shared: list[str], test: str, after: str) -> None:
    """Where neighbours read lists of their own, they may load different tiles, and more or fewer of them."""
    read = f"tile.load(following, ({row}, k), (1, 1)).item()"
    body = LISTED.replace("TEST", test).replace("NEXT", after).replace("READ", read)
    sizes = ", ".join(f"{n}: tile.Const[int]" for n in ("BM", "BN", "BK"))
    parameters = f"a: tile.In, b: tile.In, following: tile.In, out: tile.Out, {sizes}"
    made = compiled(python_kernel(body, parameters).with_hints(num_ctas=2), following="i64[?, ?]")
    (channel,) = made.report["channels"]
    assert channel["arrays"] == ["a", "b"] and channel.get("together", []) == shared
