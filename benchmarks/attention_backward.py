"""The gradients of attention, beside cuDNN's through PyTorch: the backward pass alone, on what the forward left."""

# ruff: noqa: B023  (each set of lambdas runs before its loop goes on)
from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import tileopt
from benchmarks.measure import Launch, Row
from benchmarks.variants import Finish

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from attention import attention_with_sums
from attention_backward import attention_backward, attention_backward_at_once

Tensor = torch.Tensor


def attention_gradients(finish: Finish, quick: bool) -> Iterator[Row]:
    """Rates are of the five products that gradients need at least, half of them where causal; ours makes seven, and
    delta; `one kernel` makes five, and atomics. What `finish` checks is all three gradients of the first heads."""
    sizes = [(4096, 128)] if quick else [(length, d) for d in (128, 64) for length in (4096, 8192, 16384)]
    for length, d in sizes:
        for causal in (False, True):
            heads = 64 * 4096 // length
            q, k, v, dout = (torch.randn(heads, length, d, device="cuda").bfloat16() for _ in range(4))
            out, grads = torch.empty_like(q), torch.full((3, heads, length, d), math.nan, device="cuda").bfloat16()
            others, parts = torch.empty_like(grads), torch.empty(heads, d, length, device="cuda")
            lse, delta = (torch.full((heads, length), math.nan, device="cuda") for _ in range(2))
            scale, blocks = math.log2(math.e) / math.sqrt(d), (tileopt.cdiv(length, 128), heads)
            attention_with_sums[blocks](q, k, v, out, lse, scale, BM=128, BN=128, D=d, CAUSAL=causal)
            rivals: dict[str, Launch] = {
                "tileopt": lambda: attention_backward(q, k, v, out, dout, lse, delta, *grads, scale, causal),
                "one kernel": lambda: attention_backward_at_once(
                    q, k, v, out, dout, lse, delta, *others, parts.zero_(), scale, causal
                ),
                "cuDNN": cudnn_backward(q, k, v, dout, causal),
            }
            some = 2 if length <= 8192 else 1
            reference = in_float64(q[:some], k[:some], v[:some], dout[:some], causal)
            work = 10.0 * heads * length**2 * d * (0.5 if causal else 1.0)
            name = f"attention backward d{d} {length}{' causal' if causal else ''}"
            yield finish(Row(name, "TFLOP/s"), work, rivals, grads[:, :some], reference)
            del reference


def cudnn_backward(q: Tensor, k: Tensor, v: Tensor, dout: Tensor, causal: bool) -> Launch:
    """Replays the backward pass that PyTorch makes of cuDNN's attention: recorded, so that autograd's own time on the
    host does not count."""
    inputs = [x[None].detach().clone().requires_grad_() for x in (q, k, v)]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = F.scaled_dot_product_attention(*inputs, is_causal=causal)

    def backward() -> object:
        return torch.autograd.grad(out, inputs, dout[None], retain_graph=True)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        backward()  # cuDNN plans here
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            backward()
    except RuntimeError as error:
        print(f"cuDNN's backward pass cannot be recorded, autograd's own time counts: {error}")
        return backward

    def replay() -> object:
        graph.replay()
        return out  # which keeps what the graph reads

    return replay


def in_float64(q: Tensor, k: Tensor, v: Tensor, dout: Tensor, causal: bool) -> Tensor:
    """dq, dk and dv, head by head."""
    found: list[Tensor] = []
    for head in range(len(q)):
        inputs = [x[head : head + 1].double().requires_grad_() for x in (q, k, v)]
        out = F.scaled_dot_product_attention(*inputs, is_causal=causal)
        found.append(torch.stack(torch.autograd.grad(out, inputs, dout[head : head + 1].double())))
    return torch.cat(found, dim=1)
