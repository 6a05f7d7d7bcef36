"""Every architecture's code for the example kernels is assembled: attention and product among them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from attention import attention
from matmul import matmul
from nearest import nearest
from softmax import softmax
from vector_add import vector_add

TARGETS = [
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103a", "sm_110a",
    "sm_120", "sm_120a", "sm_121a",
]  # fmt: skip
HEADS, WIDE, ROWS = "bf16[?, ?:16, ?:16]", "bf16[?:16, ?:16]", "f32[?, ?]"


@pytest.mark.parametrize("target", TARGETS)
def test_all_kernels_assemble(target: str) -> None:
    compiled = [
        vector_add.compile(target, x="f32[?]", y="f32[?]", out="f32[?]"),
        softmax.compile(target, x=ROWS, out=ROWS),
        matmul.compile(target, a=WIDE, b=WIDE, out=WIDE, BM=128, BN=128, BK=64),
        attention.compile(target, q=HEADS, k=HEADS, v=HEADS, out=HEADS, scale="f32", D=64, CAUSAL=True),
        nearest.compile(target, points="f16[?:16, ?:16]", references="f16[?:16, ?:16]", norms="f32[?]", index="i64[?]"),
    ]
    for kernel in compiled:
        assert len(kernel.cubin) > 1000
        assert ".extern .func" not in kernel.ptx
        assert kernel.report["registers"] > 0
        assert kernel.report["spill_stores"] == 0
    atoms = compiled[2].report["atoms"]
    family = "fma" if target == "sm_75" else "wgmma_m64n128k16_bf16_f32" if target == "sm_90a" else "mma_m16n8k16"
    assert len(atoms) == 1 and atoms[0].startswith(family)
