"""Products in `while` loops: what they compute, and that loops which count become what a `for` becomes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Array, Device
from python_kernels import kernel
from role_programs import WIDE

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from matmul import matmul
from variants import while_product

BF16 = np.dtype(ml_dtypes.bfloat16)
TARGETS = [None, "model:sm_80", "model:sm_90a"]
BLOCK = {"BM": 64, "BN": 64, "BK": 32}
PARAMETERS = "a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int]"
START = "i, j = tile.bid(0), tile.bid(1)\nacc = tile.zeros((BM, BN), tile.f32)\n"
PRODUCT = "acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)\n"
STORE = "tile.store(out, (i, j), acc.astype(out.dtype))\n"

# All are a @ b, whose loops count.
COUNTED = {
    "up": f"k = 0\nwhile k * BK < a.shape[1]:\n    {PRODUCT}    k += 1\n",
    "an end that is counted too": f"k = 0\nwhile (k + 1) * BK <= a.shape[1] + BK - 1:\n    {PRODUCT}    k = k + 1\n",
    "until equal": f"n = tile.cdiv(a.shape[1], BK)\nk = 0\nwhile k != n:\n    {PRODUCT}    k += 1\n",
    "down": f"k = tile.cdiv(a.shape[1], BK) - 1\nwhile k >= 0:\n    {PRODUCT}    k -= 1\n",
    "two at once": f"k = 0\nwhile k * BK < a.shape[1] and k < tile.cdiv(b.shape[0], BK):\n    {PRODUCT}    k += 1\n",
    "the last value is used": (
        f"k = 0\nwhile k * BK < a.shape[1]:\n    {PRODUCT}    k += 1\n"
        "acc = acc + (k - tile.cdiv(a.shape[1], BK)).astype(tile.f32)\n"
    ),
    "a counter beside it": (
        f"c = 0\nat = 0\nwhile c < a.shape[1]:\n    k = at\n    {PRODUCT}    at = at + 1\n    c += BK\n"
    ),
    "two loops": (
        f"k = 0\nwhile 2 * k * BK < a.shape[1]:\n    {PRODUCT}    k += 1\n"
        f"while k * BK < a.shape[1]:\n    {PRODUCT}    k += 1\n"
    ),
}


def random(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(BF16)


def check(device: Device, rng: np.random.Generator, found: Any, m: int, n: int, k: int, target: str | None) -> None:
    if target is not None and device.name != "cpu":
        pytest.skip("a model runs on the CPU")
    a, b = random(rng, m, k), random(rng, k, n)
    out = device.empty((m, n), np.float32)
    grid = -(-m // BLOCK["BM"]), -(-n // BLOCK["BN"])
    found[grid](device.put(a), device.put(b), out, **BLOCK, target=target)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(device.get(out), wanted, rtol=1e-4, atol=1e-4 * max(1, k) ** 0.5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", COUNTED)
def test_counted_loops(device: Device, rng: np.random.Generator, name: str, target: str | None) -> None:
    found = kernel(START + COUNTED[name] + STORE, PARAMETERS)
    assert "scf.while" not in found.compile("sm_90a", a=WIDE, b=WIDE, out="f32[?:16, ?:16]", **BLOCK).ir("tile")
    for m, n, k in ((72, 136, 264), (65, 67, 103), (64, 64, 0), (130, 8, 32)):
        check(device, rng, found, m, n, k, target)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_a_counted_while_is_the_same_code_as_a_for(arch: str) -> None:
    arrays, tiles = (
        dict.fromkeys(("a", "b", "out"), WIDE),
        {"BM": 128, "BN": 256 if arch == "sm_90a" else 128, "BK": 64},
    )
    found, plain = (k.compile(arch, **arrays, **tiles) for k in (while_product, matmul))
    assert found.ptx.replace("while_product", "matmul") == plain.ptx
    lines = [[line for line in str(k.report).splitlines() if "line " not in line] for k in (found, plain)]
    assert [line.replace("while_product", "matmul") for line in lines[0]] == lines[1]
