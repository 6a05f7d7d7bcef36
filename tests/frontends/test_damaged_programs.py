"""Kernels damaged at random: whatever stands in them, the answer is verified IR or an error with a place."""

from __future__ import annotations

import pytest
from damaged_programs import Grammar, check
from python_kernels import module, signature

from tileopt.dialects.verifier import verify

PROGRAMS = [
    """
K = 4
def helper(a, b=2, *rest, c=1.0):
    if a > b:
        return a, c
    for i in range(3):
        b = b + i
    return b, c * 2
@tile.kernel
def k(x: tile.In, y: tile.In, out: tile.Out, n: int, f: float, flag: bool, B: tile.Const[int] = 8):
    i = tile.bid(0)
    a = tile.load(x, (i,), (B,), padding=-1)
    total = 0
    for j in range(tile.cdiv(n, B)):
        b = tile.load(y, j, B)
        if j == 3 and flag or n > 7:
            continue
        if tile.sum(b) > f:
            break
        total += (a * b).sum()
        a = tile.where(b > 0, a + 1, a - b)
    while total > 10:
        total = total / 2
        if flag:
            return
    u, v = helper(n, b=3)
    w = lambda q: q * u + K
    tile.store(out, i, a * v + w(total) if flag else a)
""",
    """
@tile.kernel
def k(x: tile.In["f16", 2], y: tile.In["f16", 2], out: tile.Out["f32", 2], M: tile.Const = 16, N: tile.Const = 16):
    m, n = tile.bid(0) // 2, tile.bid(1) % tile.num_blocks(1)
    acc = tile.zeros((M, N), tile.f32)
    for k in range(0, x.shape[1], 16):
        acc = tile.mma(tile.load(x, (m, k // 16), (M, 16)), tile.load(y, (k // 16, n), (16, N)), acc)
    row = tile.arange(M)[:, None]
    acc = tile.where((row >= 3) & ~(row == 5), acc, tile.exp(acc) ** 2)
    best = acc.max(axis=1, keepdims=True)
    for t in tile.static_range(2):
        best = tile.maximum(best, -abs(best)) + t
    state = (best, 0)
    for s, t in enumerate((1, 2.5, 3)):
        state = (state[0] * t, state[1] + s)
    tile.store(out, (m, n), acc.T.reshape(N, M).transpose() - state[0] + state[1])
""",
    """
@tile.kernel
def k(x: tile.In["u8", 2], y: tile.In["u8", 2], out: tile.Out["u8", 2], M: tile.Const = 16, N: tile.Const = 16):
    i = tile.bid(0)
    a = tile.unpack(tile.load(x, (i, 0), (M, N)), tile.i4)
    b = tile.unpack(tile.load(y, (i, 0), (M, N)), tile.f4e2m1fn, axis=0)
    w = a.astype(tile.bf16) * tile.repeat(tile.zeros((M, 2), tile.f8e8m0fnu).astype(tile.bf16), N)
    acc = tile.mma(a, a.T) + tile.sum(b.astype(tile.f32))
    s = tile.ones((M, N // 16), tile.f8e8m0fnu)
    acc += tile.mma_scaled(a.astype(tile.f8e4m3fn), s, b.reshape(M, 2 * N).T, s.T)
    tile.store(out, (i, 0), tile.pack(w, tile.f4e2m1fn))
    tile.store(out, (i, 1), tile.pack(b, axis=0))
    tile.store(out, (i, 2), tile.pack(acc.astype(tile.i8), "u4"))
""",
]
EXPRESSIONS = """
None; n; x; out; tile; 's'; 1.5; -1; (1, 2); tile.f16; tile.zeros(4); lambda z: z; helper; a; True; tile.load; x.shape;
i; 10**9; [1]; ...; {}; tile.sum; range(3); range; int; x.dtype; a.sum; math; K;
tile.i4; tile.u8; tile.unpack; n // 0; a if n else x; (n := 3)
""".replace("\n", " ").split("; ")
STATEMENTS = """
break; continue; return; return 1; pass; del a; a = n; n += 1; a: int = 3; out[0] = 1; assert n > 3; global a; raise a;
def g(): return a; for i in range(n): break; while n: n = n - 1; x = y; i, n = n, i; a = a.astype(tile.f16); total = a
""".replace("\n", " ").split("; ")
NAMES = ("a", "b", "n", "i", "total", "zz", "acc", "best", "x", "out", "w", "state")
ATTRIBUTES = (
    "sum",
    "T",
    "shape",
    "dtype",
    "zeros",
    "load",
    "store",
    "mma",
    "unpack",
    "pack",
    "repeat",
    "mma_scaled",
    "f4e2m1fn",
    "astype",
    "f16",
    "exp",
    "where",
    "item",
    "bid",
)
GRAMMAR = Grammar(PROGRAMS, EXPRESSIONS, STATEMENTS, NAMES, ATTRIBUTES)


def test_the_programs_are_right() -> None:
    for text in PROGRAMS:
        made = module(text)["k"]
        verify(made.build(signature(made)))


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_damaged_programs(first: int) -> None:
    check(range(first, first + 25), GRAMMAR)
