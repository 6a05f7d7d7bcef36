"""Rings have as many slots as shared memory has room for: no kernel is refused for them that fits without a ring."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from product_programs import product_nt

from tileopt import TileoptError
from tileopt.backends.pipelines import run_passes
from tileopt.dialects.contracts import ArraySpec, ConstSpec, Spec
from tileopt.dialects.target import get_target

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

from matmul import matmul
from variants import gated, prologue, with_bias_and_gelu

KERNELS: list[Any] = [matmul, product_nt, gated, prologue, with_bias_and_gelu]


def array(dtype: str, rank: int, fast: int, divisor: int) -> ArraySpec:
    """Rows side by side along axis `fast`, their starts and all extents multiples of `divisor` elements."""
    strides = tuple(1 if axis == fast else divisor for axis in range(rank))
    return ArraySpec(dtype, rank, 16, fast, (divisor,) * rank, strides, regular=True)


def refused(kernel: Any, given: dict[str, Spec], target: str) -> bool:
    """Whether shared memory is too small; other reasons do not count."""
    try:
        run_passes(kernel.build(given), get_target(target))
    except TileoptError as error:
        return error.code == "target/shared-memory"
    return False


def case(random: Random) -> tuple[Any, dict[str, Spec], dict[str, int]]:
    kernel = random.choice(KERNELS)
    dtype = random.choice(["bf16", "f16", "f32"])
    divisor = random.choice([4, 8, 16])
    given: dict[str, Spec] = {}
    for name in [p.name for p in kernel.parameters if p.name in ("a", "b", "gate", "bias", "out")]:
        wide = name == "out" and (kernel is product_nt or random.random() < 0.5)
        rank = 1 if name == "bias" else 2
        given[name] = array("f32" if wide else dtype, rank, 0 if rank == 1 else random.choice([0, 1]), divisor)
    given["BM"] = ConstSpec(random.choice([16, 48, 64, 96, 128, 160, 192]))
    given["BN"] = ConstSpec(random.choice([16, 48, 64, 128, 160, 208, 256]))
    given["BK"] = ConstSpec(random.choice([16, 32, 48, 64, 96, 128]))
    hints = {"num_stages": random.choice([2, 4, 6, 8])} if random.random() < 0.6 else {}
    if random.random() < 0.5:
        hints["num_warps"] = random.choice([4, 8])
    return kernel, given, hints


@pytest.mark.parametrize("target", ["sm_90a", "sm_86"])
def test_a_ring_leaves_room(target: str) -> None:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    random = Random(seed)
    for _ in range(60):
        kernel, given, hints = case(random)
        hinted = kernel.with_hints(**hints) if hints else kernel
        if refused(hinted, given, target):
            alone = kernel.with_hints(**{**hints, "num_stages": 1})
            assert refused(alone, given, target), f"{kernel}, {given}, {hints}"


@pytest.mark.parametrize(
    ("kernel", "dtype", "tile", "fast", "hints"),
    [
        # What the engine could store lies otherwise, and goes to its store through shared memory, beside the ring.
        (prologue, "bf16", (160, 208, 64), (1, 0, 0), {"num_stages": 6, "num_warps": 8}),
        # Rows of an array's other axis are padded.
        (with_bias_and_gelu, "bf16", (160, 16, 128), (0, 1, 0), {"num_stages": 6}),
    ],
)
def test_what_was_not_counted(
    kernel: Any, dtype: str, tile: tuple[int, int, int], fast: tuple[int, int, int], hints: dict[str, int]
) -> None:
    given: dict[str, Spec] = {n: array(dtype, 2, f, 8) for n, f in zip(("a", "b", "out"), fast, strict=True)}
    if kernel is prologue:
        given["out"] = array("f32", 2, fast[2], 8)
    if kernel is with_bias_and_gelu:
        given["bias"] = array(dtype, 1, 0, 8)
    given |= {n: ConstSpec(extent) for n, extent in zip(("BM", "BN", "BK"), tile, strict=True)}
    assert not refused(kernel.with_hints(**hints), given, "sm_90a")
