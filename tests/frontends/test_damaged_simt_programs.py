"""SIMT kernels damaged at random: whatever stands in them, the answer is verified IR or an error with a place."""

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
@simt.kernel(block=(64,), requires=["len(x) == len(out)", "n > 0"])
def k(x: simt.Slice, y: simt.Slice, out: simt.DisjointSlice, hist: simt.Atomic["u32"], n: int, B: simt.Const[int] = 8):
    i = simt.thread_index()
    cache = simt.shared((4, B), simt.f32)
    total = 0
    for j in simt.grid_stride(len(x)):
        if x[j] > 1.0 and n > 7:
            continue
        if y[j] < x[j]:
            break
        total += x[j] * y[j]
    for v, w in zip(x, y.window(0, n)):
        total = total + v * w
    cache[i % 4, simt.lane_index() % B] = total
    simt.barrier()
    while total > 10:
        total = total / 2
        if n > 3:
            return
    u, v = helper(n, b=3)
    w = lambda q: q * u + K
    simt.atomic_add(hist, u % 16, 1)
    if i < len(out):
        out[i] += cache[0, 1] * v + simt.f32(w(i))
""",
    """
@simt.kernel(block=(8, 8))
def k(x: simt.Slice["f16", 2], out: simt.DisjointSlice["f32", 2], cells: simt.Atomic["i32"], s: simt.i32):
    row, col = simt.thread_index_2d()
    if row >= out.shape[0] or col >= len(out.row(0)):
        return
    line = x.row(row)
    best = simt.f32(line[0])
    for t in simt.static_range(2):
        best = simt.maximum(best, -abs(best)) + t
    for e, part in enumerate(line.window(0, 4)):
        best = simt.where(part > best, simt.exp(best) ** 2, best + e)
    best = simt.warp_reduce(best, "max", width=8) + simt.shuffle_xor(best, 1)
    mask = simt.ballot(best > 0) & simt.lane_mask("lt")
    old = simt.atomic_cas(cells, simt.popc(mask), s, 3, order="acquire")
    out[row, col] = best + simt.f32(old) - x[row, col].astype(simt.f32)
""",
]
EXPRESSIONS = """
None; n; x; out; simt; 's'; 1.5; -1; (1, 2); simt.f16; x[i]; lambda z: z; helper; hist; True; simt.shuffle; x.shape; i;
10**9; [1]; ...; {}; simt.thread_index(); range(3); x.row; cache; x.dtype; simt.shared(4); x.window(1, 2); K; n // 0;
out[i]; x[i, i]; x[0:2]; x[n:]; (n := 3); line; cache.row(0); simt.grid_stride(n); zip(x, x); enumerate(cache); line[0]
""".replace("\n", " ").split("; ")
STATEMENTS = """
break; continue; return; return 1; pass; a = n; n += 1; out[0] = 1; out[i] = n; out[i] = 2.0; hist[0] = 1; cache[n] = x;
assert n > 3; def g(): return a; for i in range(n): break; while n: n = n - 1; x = y; i, n = n, i; total = x;
for q in x: total = q; cache[0, 0] += 1.0; simt.barrier(); simt.atomic_add(cache, (0, 1), 1.0); x[i], out[i] = 1.0, 2.0
""".replace("\n", " ").split("; ")
NAMES = ("n", "i", "total", "zz", "x", "out", "cache", "w", "row", "line", "best", "hist")
ATTRIBUTES = (
    "row",
    "col",
    "window",
    "shape",
    "dtype",
    "shared",
    "shuffle",
    "atomic_add",
    "ballot",
    "f16",
    "exp",
    "where",
)


GRAMMAR = Grammar(PROGRAMS, EXPRESSIONS, STATEMENTS, NAMES, ATTRIBUTES)


def test_the_programs_are_right() -> None:
    for text in PROGRAMS:
        made = module(text)["k"]
        verify(made.build(signature(made)))


@pytest.mark.parametrize("first", range(0, 150, 25))
def test_damaged_programs(first: int) -> None:
    check(range(first, first + 25), GRAMMAR)
