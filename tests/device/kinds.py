"""One kernel of each kind, small, once: what `compute-sanitizer` watches.

compute-sanitizer --tool memcheck python tests/device/kinds.py [sm_90]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "frontends"))

from attention import attention
from einsum import einsum
from matmul import matmul
from nearest import nearest
from softmax import softmax
from vector_add import vector_add


def close(name: str, out: torch.Tensor, reference: torch.Tensor, limit: float) -> None:
    error = float((out.double() - reference.double()).norm() / reference.double().norm())
    print(f"{name}: relative error {error:.1e}")
    if not error < limit:
        raise SystemExit(f"{name} is wrong")


def main(target: str | None) -> None:
    def fresh(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.randn(*shape, device="cuda").to(dtype)

    x, y = fresh(5003), fresh(5003)
    out = torch.full_like(x, math.nan)
    vector_add[(5,)](x, y, out, target=target)
    close("vector add", out, x + y, 1e-6)

    x = fresh(37, 781)
    out = torch.full_like(x, math.nan)
    softmax[(37,)](x, out, target=target)
    close("softmax", out, torch.softmax(x.double(), -1), 1e-5)

    for dtype in (torch.bfloat16, torch.float32):
        a, b = fresh(200, 136, dtype=dtype), fresh(136, 264, dtype=dtype)
        for block in ((64, 64, 32), (128, 128, 64), (48, 96, 16)):
            out = torch.full((200, 264), math.nan, device="cuda")
            matmul[(-(-200 // block[0]), -(-264 // block[1]))](a, b, out, *block, target=target)
            close(f"product {dtype} {block}", out, a.double() @ b.double(), 1e-5)

    q, k, v = (fresh(2, 200, 64, dtype=torch.bfloat16) for _ in range(3))
    out = torch.full_like(q, math.nan)
    attention[(4, 2)](q, k, v, out, math.log2(math.e) / 8, CAUSAL=True, target=target)
    reference = torch.nn.functional.scaled_dot_product_attention(*(t.double()[None] for t in (q, k, v)), is_causal=True)
    close("attention", out, reference[0], 2e-2)

    points = torch.randint(0, 17, (100, 64), device="cuda").half()
    others = torch.randint(0, 17, (333, 64), device="cuda").half()
    index = torch.full((100,), -1, dtype=torch.int64, device="cuda")
    nearest[(2,)](points, others, (others.double() ** 2).sum(1).float(), index, target=target)
    close("nearest", index, torch.cdist(points.double(), others.double()).argmin(1), 1e-9)

    if target is None:
        for text in ("ij->ji", "ij,ij->", "i,j->ij"):
            operands = [fresh(*(33 + 7 * ord(c) % 40 for c in labels)) for labels in text.split("->")[0].split(",")]
            reference = torch.einsum(text, *operands)
            out = torch.full_like(reference, math.nan)
            einsum(text, *operands, out=out)
            close(text, out, reference, 1e-5)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
