"""One kernel of each kind, small, once: what `compute-sanitizer` watches.

compute-sanitizer --tool memcheck python tests/device/kinds.py [sm_90]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "frontends"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "simt"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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
        for block in ((64, 64, 32), (128, 128, 64), (48, 96, 16), (8, 64, 64), (40, 128, 32)):
            out = torch.full((200, 264), math.nan, device="cuda")
            matmul[(-(-200 // block[0]), -(-264 // block[1]))](a, b, out, *block, target=target)
            close(f"product {dtype} {block}", out, a.double() @ b.double(), 1e-5)

    products_of_types(target)
    packed_and_scaled(target)
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
    if target is None and torch.cuda.get_device_capability() >= (9, 0):
        a, b = fresh(512, 200, dtype=torch.bfloat16), fresh(200, 272, dtype=torch.bfloat16)
        out = torch.full((512, 272), math.nan, device="cuda")
        matmul.with_hints(num_ctas=2)[(4, 3)](a, b, out, 128, 128, 64)
        close("product in clusters", out, a.double() @ b.double(), 1e-6)
    if target is None:
        hardware()
    torch.cuda.synchronize()


def products_of_types(target: str | None) -> None:
    """Products of narrow types, both operands stored either way. Units add those of f8 with fewer bits than f32."""
    from product_programs import product, product_nt, product_tf32, tf32_nt

    def fresh(*shape: int, dtype: torch.dtype) -> torch.Tensor:
        if not dtype.is_floating_point:
            return torch.randint(0, 256, shape, device="cuda").to(dtype)
        return torch.randn(*shape, device="cuda").to(dtype)

    plain, tf32 = (product, product_nt), (product_tf32, tf32_nt)
    for dtype, acc, limit, (kernel, transposed) in (
        (torch.float8_e4m3fn, torch.float32, 2e-3, plain),
        (torch.float8_e5m2, torch.float32, 2e-3, plain),
        (torch.int8, torch.int32, 1e-9, plain),
        (torch.uint8, torch.int32, 1e-9, plain),
        (torch.float32, torch.float32, 2e-3, tf32),
        (torch.float64, torch.float64, 1e-14, plain),
    ):
        a, b, t = (fresh(*shape, dtype=dtype) for shape in ((200, 144), (144, 272), (272, 144)))
        deep = 32 if dtype.itemsize > 1 else 128
        for block in ((64, 64, 32), (128, 128, deep), (48, 96, 16), (128, 256, deep), (16, 64, 64)):
            grid = (-(-200 // block[0]), -(-272 // block[1]))
            for left, order in ((a, "rows"), (a.t().contiguous().t(), "columns")):
                for launched, right, wanted in ((kernel, b, b), (transposed, t, t.t())):
                    if dtype is torch.float64 and block[1] > 128:
                        continue  # more than a thread's registers
                    out = torch.full((200, 272), 77, dtype=acc, device="cuda")
                    launched[grid](left, right, out, *block, target=target)
                    name = f"{launched.name} {dtype} {block}, a by {order}"
                    close(name, out, left.double() @ wanted.double(), limit)


def packed_and_scaled(target: str | None) -> None:
    """Weights of four bits on both sides, and products with block scales."""
    from packed_programs import unpacked, weights_left, weights_right
    from scaled_programs import scaled_nt

    def some(*shape: int) -> torch.Tensor:
        return torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")

    def wide(packed: torch.Tensor, kind: str) -> torch.Tensor:
        return torch.from_numpy(unpacked(packed.cpu().numpy(), kind)).cuda()

    m, n, k = 150, 72, 224
    for kind in ("i4", "u4", "f4e2m1fn"):
        for block in ((64, 64, 64), (128, 96, 64), (48, 40, 32)):
            w, x = some(m, k // 2), torch.randint(-8, 8, (k, n), device="cuda").bfloat16()
            out = torch.full((m, n), 77.0, device="cuda")
            weights_left[-(-m // block[0]), -(-n // block[1])](w, x, out, kind, *block, target=target)
            close(f"weights {kind} left {block}", out, wide(w, kind) @ x.double(), 1e-6)
            w, x = some(n, k // 2), torch.randint(-8, 8, (m, k), device="cuda").bfloat16()
            s = torch.exp2(torch.randint(-2, 3, (n, k // 32), device="cuda").float()).bfloat16()
            out = torch.full((m, n), 77.0, device="cuda")
            weights_right[-(-m // block[0]), -(-n // block[1])](x, w, s, out, kind, 32, *block, target=target)
            right = wide(w, kind) * s.double().repeat_interleave(32, 1)
            close(f"weights {kind} right {block}", out, x.double() @ right.t(), 1e-6)
    for size, name in ((32, "mxfp4"), (16, "nvfp4"), (32, "mxfp8")):
        a, b = some(m, k // 2), some(n, k // 2)
        left, right = wide(a, "f4e2m1fn"), wide(b, "f4e2m1fn")
        if name == "mxfp8":
            a, b = left.to(torch.float8_e4m3fn), right.to(torch.float8_e4m3fn)
        powers = [torch.randint(-3, 4, (rows, k // size), device="cuda").double() for rows in (m, n)]
        scales = [torch.exp2(p).to(torch.float8_e4m3fn) for p in powers]
        if size == 32:
            scales = [(p + 127).to(torch.uint8).view(torch.float8_e8m0fnu) for p in powers]
        out = torch.full((m, n), 77.0, device="cuda")
        scaled_nt[3, 2](a, scales[0], b, scales[1], out, size, 64, 64, 64, target=target)
        left, right = (t * torch.exp2(p).repeat_interleave(size, 1) for t, p in zip((left, right), powers, strict=True))
        close(name, out, left @ right.t(), 1e-5)


def hardware() -> None:
    """The hardware's own instructions, as far as this GPU has them, against the CPU's model of them."""
    major, minor = torch.cuda.get_device_capability()
    here = 10 * major + minor
    for name, archs, kernel, grid, arrays in hardware_kinds():
        if here not in archs:
            print(f"{name}: not on sm_{here}")
            continue
        on_cpu = [x.clone() for x in arrays]
        on_gpu = [x.cuda() for x in arrays]
        kernel[grid](*on_cpu)
        kernel[grid](*on_gpu)
        close(name, on_gpu[-1].cpu(), on_cpu[-1], 2e-3 if "f8" in name else 1e-5)


def hardware_kinds() -> list[tuple[str, range | tuple[int, ...], Any, Any, list[torch.Tensor]]]:
    """(name, architectures, kernel, grid, its arrays: the last is the output)."""
    from cluster_ring import ring_sum
    from dynamic_shared import reverse_blocks
    from hardware_programs import tcgen05_kernel, wgmma_kernel
    from inline_ptx import differences
    from matrix_transpose import matrix_transpose
    from tensor_core_product import tensor_core_product
    from tma_pipeline import column_sums

    def bf16(*shape: int) -> torch.Tensor:
        return torch.randn(*shape).bfloat16()

    def f16(*shape: int) -> torch.Tensor:
        return torch.randn(*shape).half()

    words = [torch.randint(0, 1 << 31, (1003,), dtype=torch.int64).to(torch.uint32) for _ in range(2)]
    since_80, since_90, tensor = range(80, 200), range(90, 200), (100, 103, 110)
    zeros = torch.zeros
    return [
        ("mma.sync", since_80, tensor_core_product, (2, 2), [bf16(70, 77), bf16(77, 45), zeros(70, 45)]),
        ("tma", since_90, column_sums, 3, [torch.randn(211, 132), zeros(132)]),
        ("cluster", since_90, ring_sum, 4, [torch.randint(-99, 99, (200,)).int(), zeros(200).int()]),
        ("stmatrix", since_90, matrix_transpose, (4, 3), [f16(37, 50), zeros(50, 37).half()]),
        ("inline ptx", range(75, 200), differences, 4, [*words, zeros(1003).to(torch.uint32)]),
        ("dynamic shared", range(75, 200), reverse_blocks, 3, [torch.randn(333), zeros(333).double()]),
        ("wgmma", (90,), wgmma_kernel(96, 64, "f16", "f16", False, False, False), 1,
         [f16(64, 64), f16(96, 64), zeros(128, 48)]),
        ("wgmma of columns", (90,), wgmma_kernel(64, 64, "f16", "f16", True, True, False), 1,
         [f16(64, 64), f16(64, 64), zeros(128, 32)]),
        ("tcgen05", tensor, tcgen05_kernel(96, 64, "f16", "f16", False, False), 1,
         [f16(128, 64), f16(96, 64), zeros(128, 96)]),
    ]  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
