"""The same work for Triton, written for these benchmarks: add, softmax of a row, matrix product, attention forward."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    v = tl.load(x + row * stride + at, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def matmul(
    a, b, c, M, N, K, sam, sak, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (GROUP * columns)
    first = group * GROUP
    size = min(rows - first, GROUP)
    i, j = first + (pid % (GROUP * columns)) % size, (pid % (GROUP * columns)) // size
    m, n, k = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa = a + (m % M)[:, None] * sam + k[None, :] * sak
    pb = b + k[:, None] * sbk + (n % N)[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for step in range(tl.cdiv(K, BK)):
        left = tl.load(pa, mask=k[None, :] < K - step * BK, other=0.0)
        right = tl.load(pb, mask=k[:, None] < K - step * BK, other=0.0)
        acc = tl.dot(left, right, acc)
        pa += BK * sak
        pb += BK * sbk
    tl.store(c + m[:, None] * scm + n[None, :], acc.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def attention(q, k, v, out, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    i, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows, lane, d = i * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    base = head * S * D
    queries = tl.load(q + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < S, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    last = S
    if CAUSAL:
        last = min(S, (i + 1) * BM)
    for j in range(0, last, BN):
        at = j + lane
        keys = tl.load(k + base + at[None, :] * D + d[:, None], mask=at[None, :] < S, other=0.0)
        s = tl.dot(queries, keys) * scale
        s = tl.where(at[None, :] < S, s, -float("inf"))
        if CAUSAL:
            s = tl.where(at[None, :] <= rows[:, None], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        fade = tl.exp2(top - new)
        total = total * fade + tl.sum(p, 1)
        values = tl.load(v + base + at[:, None] * D + d[None, :], mask=at[:, None] < S, other=0.0)
        acc = tl.dot(p.to(v.dtype.element_ty), values, acc * fade[:, None])
        top = new
    acc = acc / total[:, None]
    tl.store(out + base + rows[:, None] * D + d[None, :], acc.to(out.dtype.element_ty), mask=rows[:, None] < S)
