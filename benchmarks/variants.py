"""Kernels with products that nobody tuned, beside PyTorch's way of doing the same, and the plain product's rate."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.nn.functional as F

import tileopt
from benchmarks.measure import Launch, Row

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from attention import attention
from matmul import matmul
from variants import (
    biased_attention,
    capped_attention,
    gated,
    prologue,
    while_product,
    windowed_attention,
    with_bias_and_gelu,
)

Finish = Callable[[Row, float, dict[str, Launch], torch.Tensor, torch.Tensor], Row]


def variants(finish: Finish, n: int = 4096) -> Iterator[Row]:
    """`plain` is our product of the same size: the ratio to it should be 0.8 or better."""
    a, b, gate = (torch.randn(n, n, device="cuda").bfloat16() for _ in range(3))
    bias = torch.randn(n, device="cuda").bfloat16()
    gate = gate / 64
    out, other = torch.empty_like(a), torch.empty_like(a)
    tiles = (128, 256, 64)
    grid = (tileopt.cdiv(n, 128), tileopt.cdiv(n, 256))
    half = (tileopt.cdiv(n, 128), tileopt.cdiv(n, 128))
    plain: Launch = lambda: matmul[grid](a, b, other, *tiles)  # noqa: E731
    wide = a.double() @ b.double()
    flops = 2.0 * n**3

    rivals: dict[str, Launch] = {
        "tileopt": lambda: prologue[grid](a, b, out, *tiles),
        "plain": plain,
        "torch": lambda: torch.mm(torch.relu(a), b, out=other),
    }
    yield finish(Row(f"relu(a) @ b {n}", "TFLOP/s"), flops, rivals, out, torch.relu(a).double() @ b.double())
    rivals = {
        "tileopt": lambda: with_bias_and_gelu[grid](a, b, bias, out, *tiles),
        "plain": plain,
        "torch": lambda: F.gelu(torch.addmm(bias, a, b), approximate="tanh"),
    }
    reference = F.gelu(wide + bias.double(), approximate="tanh")
    yield finish(Row(f"gelu(a @ b + bias) {n}", "TFLOP/s"), flops, rivals, out, reference)
    rivals = {
        "tileopt": lambda: gated[half](a, b, gate, out, 128, 128, 64),
        "torch": lambda: torch.mm(a, b) * torch.sigmoid(torch.mm(a, gate)),
    }
    reference = wide * torch.sigmoid(a.double() @ gate.double())
    yield finish(Row(f"(a @ b) * sigmoid(a @ gate) {n}", "TFLOP/s"), 2 * flops, rivals, out, reference)
    rivals = {"tileopt": lambda: while_product[grid](a, b, out, *tiles), "plain": plain}
    yield finish(Row(f"a @ b in a while loop {n}", "TFLOP/s"), flops, rivals, out, wide)
    yield from attentions(finish)


def attentions(finish: Finish, length: int = 4096, heads: int = 32, d: int = 128) -> Iterator[Row]:
    """Scores that are changed on the way. `plain` is our attention with as much to multiply; a window of all is a
    causal mask. PyTorch takes a mask, or a bias, for each score."""
    q, k, v = (torch.randn(heads, length, d, device="cuda").bfloat16() for _ in range(3))
    bias = torch.randn(heads, length, length, device="cuda").bfloat16()
    out, other = torch.full_like(q, math.nan), torch.empty_like(q)
    natural, some = 1 / math.sqrt(d), 2
    scale, blocks = math.log2(math.e) * natural, (tileopt.cdiv(length, 128), heads)
    work = 4.0 * heads * length**2 * d
    scores = q[:some].double() @ k[:some].double().mT * natural
    full: Launch = lambda: attention[blocks](q, k, v, other, scale, 128, 128, d)  # noqa: E731
    causal: Launch = lambda: attention[blocks](q, k, v, other, scale, 128, 128, d, CAUSAL=True)  # noqa: E731

    rivals: dict[str, Launch] = {
        "tileopt": lambda: biased_attention[blocks](q, k, v, bias, out, scale, 128, 64, d),
        "plain": full,
        "torch": lambda: F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=bias[None]),
    }
    reference = torch.softmax(scores + bias[:some].double(), -1) @ v[:some].double()
    yield finish(Row(f"attention with a bias d{d} {length}", "TFLOP/s"), work, rivals, out[:some], reference)
    row, column = torch.arange(length, device="cuda")[:, None], torch.arange(length, device="cuda")[None, :]
    for window in (length, 1024):
        seen = (column <= row) & (column > row - window)
        rivals = {
            "tileopt": lambda w=window: windowed_attention[blocks](q, k, v, out, scale, w, 128, 128, d),
            "torch": lambda m=seen: F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=m),
        }
        if window == length:
            rivals["plain"] = causal
        weights = torch.softmax(scores.masked_fill(~seen, -math.inf), -1)
        pairs = window * length - window * window / 2
        name = f"attention in a window of {window}, d{d} {length}"
        yield finish(Row(name, "TFLOP/s"), 4.0 * heads * pairs * d, rivals, out[:some], weights @ v[:some].double())
    rivals = {
        "tileopt": lambda: capped_attention[blocks](q, k, v, out, natural, 4.0, length, 128, 128, d),
        "plain": causal,
    }
    weights = torch.softmax((4 * torch.tanh(scores / 4)).masked_fill(column > row, -math.inf), -1)
    reference = weights @ v[:some].double()
    yield finish(
        Row(f"attention with capped scores d{d} {length} causal", "TFLOP/s"), work / 2, rivals, out[:some], reference
    )
