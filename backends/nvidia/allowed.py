"""LLVM intrinsics that NVPTX selects on every architecture (LLVM kills the process on others).

Names, or stems of overloaded names. `tests/backends/nvidia/test_selection.py` compiles each for each architecture.
"""

from __future__ import annotations

ELEMENTWISE_FLOAT = (
    "fabs", "floor", "ceil", "trunc", "round", "roundeven", "sqrt", "fma", "copysign", "maximum", "minimum", "maxnum",
    "minnum",
)  # fmt: skip
ELEMENTWISE_INT = ("smin", "smax", "umin", "umax", "abs", "ctlz", "cttz", "ctpop")
CONVERSIONS = ("fptosi.sat", "fptoui.sat")
SPECIAL_REGISTERS = tuple(f"nvvm.read.ptx.sreg.{name}.{axis}" for name in ("tid", "ctaid", "nctaid") for axis in "xyz")
OTHERS = (
    "nvvm.barrier.cta.sync.aligned.all", "nvvm.barrier.cta.sync.aligned.count", "trap", "assume",
    "nvvm.read.ptx.sreg.clock64",
    *(f"nvvm.shfl.sync.{mode}.i32" for mode in ("bfly", "idx", "up", "down")),
    *(f"nvvm.vote.{kind}.sync" for kind in ("any", "all", "ballot")),
    *(f"nvvm.match.{kind}" for kind in ("any.sync.i32", "any.sync.i64", "all.sync.i32p", "all.sync.i64p")),
    "nvvm.bar.warp.sync",
    "nvvm.add.rm.f", "nvvm.redux.sync", "nvvm.ff2f16x2.rn", "nvvm.ff2bf16x2.rn",  # from sm_80 on
)  # fmt: skip

INTRINSICS = frozenset(
    f"llvm.{name}" for name in (*ELEMENTWISE_FLOAT, *ELEMENTWISE_INT, *CONVERSIONS, *SPECIAL_REGISTERS, *OTHERS)
)
