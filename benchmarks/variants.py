"""Kernels with products that nobody tuned, beside PyTorch's way of doing the same, and the plain product's rate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.nn.functional as F

import tileopt
from benchmarks.measure import Launch, Row

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from matmul import matmul
from variants import gated, prologue, while_product, with_bias_and_gelu

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
