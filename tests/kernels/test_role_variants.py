"""Kernels around products that nobody tuned: with a producer they are made of the same tiles as without pipelining.

Each is run warp by warp (see `protocol_checker`), pipelined with interleavings at random, and with one stage.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from barrier_model import Made
from protocol_checker import BlockRun
from python_kernels import kernel
from role_programs import WIDE, lowered, top
from xdsl.dialects.builtin import ModuleOp

BM, BN, BK = 128, 128, 64
TILES = f"BM: tile.Const[int] = {BM}, BN: tile.Const[int] = {BN}, BK: tile.Const[int] = {BK}"
GRID = (3, 2, 1)
START = """
i, j = tile.bid(0), tile.bid(1)
p = tile.zeros((BM, BN), tile.f32)
"""
EACH = "for k in range(tile.cdiv(a.shape[1], BK)):\n    "
END = "tile.store(out, (i, j), p.astype(out.dtype))\n"
LEFT, RIGHT = "tile.load(a, (i, k), (BM, BK))", "tile.load(b, (k, j), (BK, BN))"

BODIES = {
    # A computed operand goes to its product by way of shared memory: the next one may not be written while it is read.
    "a product of a product, as the right operand": START
    + EACH
    + "s = tile.mma(tile.load(b, (k, j), (BM, BK)), tile.load(c, (k, j), (BK, BN)), tile.zeros((BM, BN), tile.f32))\n"
    + "    p = tile.mma(tile.load(a, (i, k), (BM, BM)), s.astype(a.dtype), p)\n"
    + END,
    # One tile is taken by both products of an iteration, which skewing would take apart.
    "keys that are values": """
i, j = tile.bid(0), tile.bid(1)
p = tile.zeros((BM, BK), tile.f32)
q = tile.load(a, (i, 0), (BM, BK))
for k in range(tile.cdiv(b.shape[0], BN)):
    kv = tile.load(b, (k, 0), (BN, BK))
    s = tile.mma(q, kv.T, tile.zeros((BM, BN), tile.f32))
    p = tile.mma(s.astype(a.dtype), kv, p)
tile.store(out, (i, j), p.astype(out.dtype))
""",
    "three products": START
    + EACH
    + f"s = tile.mma({LEFT}, tile.load(b, (k, 0), (BK, BK)), tile.zeros((BM, BK), tile.f32))\n"
    + "    t = tile.mma(s.astype(a.dtype), tile.load(b, (k, 1), (BK, BK)), tile.zeros((BM, BK), tile.f32))\n"
    + "    p = tile.mma(t.astype(a.dtype), tile.load(c, (k, j), (BK, BN)), p)\n"
    + END,
    # What an epilogue loads and reduces takes its way through shared memory beside the ring.
    "a bias, and the rows' maxima": START
    + EACH
    + f"p = tile.mma({LEFT}, {RIGHT}, p)\n"
    + "p = p + tile.load(c, (i, j), (BM, BN)).astype(tile.f32)\n"
    + "p = p - tile.max(p, axis=1)[:, None]\n"
    + END,
    # A row that threads read in each iteration comes with the tile that was loaded before it; the next row of the same
    # array, whose place follows from what was loaded, does not.
    "a row that comes along": START
    + EACH
    + f"x, row = {LEFT}, tile.load(c, (k, j), (1, BN))\n"
    + f"    s = tile.mma(x, {RIGHT}, tile.zeros((BM, BN), tile.f32))\n"
    + "    p = p + s * row.astype(tile.f32)\n"
    + END,
    # Two accumulators whose left operands are made of products: they run on into the next iteration, which waits for
    # products of its own before it makes these operands anew.
    "two chains of what is computed": """
i, j = tile.bid(0), tile.bid(1)
p, q = tile.zeros((BM, BK), tile.f32), tile.zeros((BM, BK), tile.f32)
x, y = tile.load(a, (i, 0), (BM, BK)), tile.load(a, (i, 1), (BM, BK))
for k in range(tile.cdiv(b.shape[0], BK)):
    u, v = tile.load(b, (k, 0), (BK, BK)), tile.load(c, (k, 0), (BK, BK))
    s = tile.mma(x, u.T, tile.zeros((BM, BK), tile.f32))
    t = tile.mma(y, v.T, tile.zeros((BM, BK), tile.f32))
    p = tile.mma(s.astype(a.dtype), v, p)
    q = tile.mma((s * t).astype(a.dtype), u, q)
tile.store(out, (i, 2 * j), p.astype(out.dtype))
tile.store(out, (i, 2 * j + 1), q.astype(out.dtype))
""",
    "two products that share an operand": START
    + "q = tile.zeros((BM, BN), tile.f32)\n"
    + EACH
    + f"x = {LEFT}\n    p = tile.mma(x, {RIGHT}, p)\n    q = tile.mma(x, tile.load(c, (k, j), (BK, BN)), q)\n"
    + "p = p * q\n"
    + END,
    "a loop of tiles, each stored": """
i = tile.bid(0)
for j in range(tile.cdiv(b.shape[1], BN)):
    p = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        p = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), p)
    tile.store(out, (i, j), p.astype(out.dtype))
""",
    # How often it runs only the loop itself finds out, and each role for itself.
    "a while": START
    + "at, k = 1, 0\nwhile at < 2 * tile.cdiv(a.shape[1], BK):\n"
    + f"    p = tile.mma({LEFT}, {RIGHT}, p)\n    at, k = at * 2, k + 1\n"
    + END,
    "a while, and a branch in it": START
    + "at, k = 1, 0\nwhile at < 2 * tile.cdiv(a.shape[1], BK):\n"
    + f"    p = tile.mma({LEFT}, {RIGHT}, p)\n"
    + "    if k % 2 == 0:\n"
    + "        p = tile.mma(tile.load(c, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), p)\n"
    + "    at, k = at * 2, k + 1\n"
    + END,
    "a loop that is left": START
    + EACH
    + f"if k == i + 1:\n        break\n    p = tile.mma({LEFT}, {RIGHT}, p)\n"
    + END,
    "loops in the branches": START
    + f"if i < 2:\n    {EACH.replace('    ', '        ')}p = tile.mma({LEFT}, {RIGHT}, p)\n"
    + "else:\n    for k in range(0, tile.cdiv(a.shape[1], BK), 2):\n"
    + f"        p = tile.mma({LEFT}, {RIGHT}, p)\n"
    + END,
}
Stored = dict[tuple[int, ...], set[Made]]


@cache
def both(name: str) -> tuple[ModuleOp, ModuleOp]:
    """The kernel without pipelining, and with a producer."""
    made: list[ModuleOp] = []
    for hints in ("(num_stages=1)", ""):
        found: Any = kernel(BODIES[name], f"a: tile.In, b: tile.In, c: tile.In, out: tile.Out, {TILES}", hints=hints)
        made.append(lowered(found, **dict.fromkeys("abc", WIDE), out=WIDE))
    assert "simt.role" not in str(made[0]) and "simt.role" in str(made[1])
    return made[0], made[1]


def run(module: ModuleOp, trips: int, seed: int) -> Stored:
    """What each tile of the output was made from; panels of a tile come together."""
    m, n, k = GRID[0] * BM - 1, GRID[1] * BN - 1, max(0, trips * BK - 3)
    given = [("a", (m, k)), ("b", (k, n)), ("c", (k, n)), ("out", (m, n))]
    places = [(i, j, 0) for i in range(GRID[0]) for j in range(GRID[1])]
    if "physical" in str(module):
        runs = [BlockRun(top(module), given, seed, grid=GRID, physical=(block, 2)) for block in range(2)]
    else:
        runs = [BlockRun(top(module), given, seed, ids=ids, grid=GRID) for ids in places]
    stored: Stored = {}
    for done in runs:
        for (_, at), made in done.stored.items():
            stored.setdefault(tuple(x // e * e for x, e in zip(at, (BM, BN), strict=True)), set()).add(made)
    return stored


@pytest.mark.parametrize("name", BODIES)
def test_made_of_the_same(name: str) -> None:
    plain, roles = both(name)
    for trips in (0, 1, 4):
        expected = run(plain, trips, 0)
        for seed in range(2):
            assert run(roles, trips, seed) == expected
