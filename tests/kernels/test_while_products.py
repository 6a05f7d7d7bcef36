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


# Products over the blocks of K that a list of numbers leads to, each block once: `given` says which comes behind which,
# how many there are, and so on; `ROLES` whether a producer can follow.
LISTED = {
    "linked": (
        "k = start\nwhile k >= 0:\n" + f"    {PRODUCT}    k = tile.load(given, (k,), (1,)).item()\n",
        True,
    ),
    "until a mark": (
        "at = 0\nwhile tile.load(given, (at,), (1,)).item() >= 0:\n"
        f"    k = tile.load(given, (at,), (1,)).item()\n    {PRODUCT}    at += 1\n",
        True,
    ),
    "a loop that is left": (
        "for at in range(tile.cdiv(a.shape[1], BK) + 1):\n    k = tile.load(given, (at,), (1,)).item()\n"
        f"    if k < 0:\n        break\n    {PRODUCT}",
        True,
    ),
    "two products in turn": (
        f"other = acc\nk = start\nwhile k >= 0:\n    {PRODUCT}    k = tile.load(given, (k,), (1,)).item()\n"
        f"    if k >= 0:\n        {PRODUCT.replace('acc', 'other')}"
        "        k = tile.load(given, (k,), (1,)).item()\nacc = acc + other\n",
        True,
    ),
    "a loop in a loop": (
        f"k = start\nwhile k >= 0:\n    c = 0\n    while c < 2 and k >= 0:\n        {PRODUCT}"
        "        k = tile.load(given, (k,), (1,)).item()\n        c += 1\n",
        True,
    ),
    "numbers for a loop that counts": (
        f"for at in range(count):\n    k = tile.load(given, (at,), (1,)).item()\n    {PRODUCT}",
        True,
    ),
    # The product itself decides: no warp that only copies knows how.
    "while it is small": (
        f"k = start\nwhile k >= 0 and tile.max(tile.abs(acc)).item() < 1.0e9:\n    {PRODUCT}"
        "    k = tile.load(given, (k,), (1,)).item()\n",
        False,
    ),
}
LINKED = {"linked", "two products in turn", "a loop in a loop", "while it is small"}
LISTS = PARAMETERS.replace("out:", "given: tile.In, out:").replace(", BM", ", start: int, count: int, BM", 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", LISTED)
def test_listed_blocks(device: Device, rng: np.random.Generator, name: str, target: str | None) -> None:
    if target is not None and device.name != "cpu":
        pytest.skip("a model runs on the CPU")
    body, roles = LISTED[name]
    found = kernel(START + body + STORE, LISTS)
    arrays = {"a": WIDE, "b": WIDE, "out": "f32[?:16, ?:16]", "given": "i64[?]", "start": "i64", "count": "i64"}
    assert ("roles" in str(found.compile("sm_90a", **arrays, **BLOCK).report)) is roles
    for m, n, blocks, chosen in ((72, 136, 9, 7), (64, 64, 3, 0), (130, 8, 5, 1), (65, 67, 6, 6)):
        k = blocks * BLOCK["BK"]
        a, b = random(rng, m, k), random(rng, k, n)
        order = rng.permutation(blocks)[:chosen]
        given = np.full(blocks + 1, -1, np.int64)
        if name in LINKED:
            given[order[:-1]] = order[1:]
        else:
            given[:chosen] = order
        out = device.empty((m, n), np.float32)
        grid = -(-m // BLOCK["BM"]), -(-n // BLOCK["BN"])
        start = int(order[0]) if chosen else -1
        moved = [device.put(x) for x in (a, b, given)]
        found[grid](*moved, out, start, chosen, **BLOCK, target=target)
        wide = a.astype(np.float64).reshape(m, blocks, -1), b.astype(np.float64).reshape(blocks, -1, n)
        wanted = sum((wide[0][:, x] @ wide[1][x] for x in order), np.zeros((m, n)))
        np.testing.assert_allclose(device.get(out), wanted, rtol=1e-4, atol=1e-3)
