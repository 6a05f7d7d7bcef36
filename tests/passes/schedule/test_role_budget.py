"""role-budget: roles never ask for more registers than their block was launched with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tileopt.backends import targets  # noqa: F401  (their names)
from tileopt.dialects import tile
from tileopt.dialects.target import Target, get_target
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.schedule.role_budget import (
    FEWEST_REGISTERS,
    PRODUCER_REGISTERS,
    WARPGROUP,
    fits,
    role_budget,
    shared_room,
    widest,
)

HOPPER = get_target("sm_90a")


def kernel(m: int, n: int) -> tile.Kernel:
    """One product with the accumulator of an instruction of n columns."""
    a, b, acc = f"tensor<{m}x64xbf16>", f"tensor<64x{n}xbf16>", f"tensor<{m}x{n}xf32>"
    text = f"""tile.kernel @f(%f: bf16, %g: f32) {{
%a = tile.splat %f : bf16 -> {a}
%b = tile.splat %f : bf16 -> {b}
%c = tile.splat %g : f32 -> {acc}
%d = tile.mma %a, %b, %c {{atom = "wgmma_m64n{n}k16_bf16_f32"}} : {a}, {b}, {acc} -> {acc}
tile.return
}}"""
    (found,) = parse_module(create_context(), text).body.block.ops
    assert isinstance(found, tile.Kernel)
    return found


def launched(target: Target, warps: int, blocks: int) -> int:
    """Registers that a thread begins with: the file in equal parts, in eights, no more than a thread can have."""
    return min(255, target.register_file // (blocks * 32 * (warps + WARPGROUP)) // 8 * 8)


@pytest.mark.parametrize("file", [65536, 32768])
@pytest.mark.parametrize("columns", [16, 64, 128, 192, 256])
@pytest.mark.parametrize("warps", range(4, 29, 4))
def test_registers_sum_to_no_more_than_there_are(warps: int, columns: int, file: int) -> None:
    target, top = replace(HOPPER, register_file=file), kernel(64, columns)
    if not fits(target, warps, top):
        assert max(widest(top, target), PRODUCER_REGISTERS) > launched(target, warps, 1)
        return
    budget = role_budget(target, warps, top)
    groups = warps // WARPGROUP
    begun = launched(target, warps, budget.blocks)
    asked = budget.consumer * groups + budget.producer
    assert asked <= begun * (groups + 1) and budget.blocks * asked * 32 * WARPGROUP <= file
    for registers in (budget.consumer, budget.producer):
        assert 24 <= registers <= 256 and registers % 8 == 0
    # Each role is given what the instruction says: consumers take, the producer gives.
    assert FEWEST_REGISTERS <= budget.producer <= min(begun, 240) <= budget.consumer
    assert widest(top, target) <= begun


def test_one_warpgroup_shares_the_multiprocessor() -> None:
    narrow, wide = role_budget(HOPPER, 4, kernel(64, 128)), role_budget(HOPPER, 4, kernel(64, 256))
    assert (narrow.blocks, wide.blocks) == (2, 1)
    assert [role_budget(HOPPER, 4, kernel(64, 128), most).blocks for most in (1, 2)] == [1, 2]
    assert 2 * (shared_room(HOPPER, narrow.blocks) + 1024) <= HOPPER.shared_bytes
    assert shared_room(HOPPER, wide.blocks) == HOPPER.shared_bytes
    assert role_budget(HOPPER, 8, kernel(128, 64)).blocks == 1


def test_consumers_whose_accumulators_leave_few_registers_get_the_producers() -> None:
    """One product's accumulators of 256 rows take 128 registers of two warpgroups' threads, and 96 columns more 192."""
    roomy, crowded = role_budget(HOPPER, 8, kernel(256, 128)), role_budget(HOPPER, 8, kernel(256, 192))
    assert (roomy.consumer, roomy.producer) == (224, 56) and (crowded.consumer, crowded.producer) == (232, 40)


def test_accumulators_are_counted_with_what_ptxas_wants_beside_them() -> None:
    """ptxas said: 154 registers for m64n256, 138 for m64n224."""
    assert widest(kernel(64, 256), HOPPER) == 154 and widest(kernel(64, 224), HOPPER) == 138
    assert not fits(HOPPER, 16, kernel(256, 256)) and fits(HOPPER, 16, kernel(256, 128))
