"""Barriers, shuffles and shared memory: each thread is a coroutine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileopt.dialects.layout import Layout, coalesced

pytestmark = pytest.mark.usefixtures("either_way")


def butterfly(w: Any, value: str, type_: str, masks: list[int], combine: str) -> str:
    """Combines `value` over the lanes that differ in the masks' bits; gives the name of the result."""
    for mask in masks:
        w.line(f"%{value}_{mask} = simt.shuffle_xor %{value} {{mask = {mask} : i64}} : {type_} -> {type_}")
        w.line(f"%{value}s{mask} = {combine} %{value}, %{value}_{mask} : {type_}")
        value = f"{value}s{mask}"
    return value


def row_sum(cpu: Any, columns: int, warps: int, dtype: str = "f32") -> Any:
    """out[row] = sum of a row, lanes by shuffles, warps through shared memory."""
    layout = coalesced((columns,), (0,), 8, warps)
    w = cpu.Writer(threads=32 * warps)
    x, out = w.view("x", dtype, 2, unit=1), w.view("out", dtype, 1, owned=True)
    w.line("%zero = arith.constant 0 : i64")
    w.line("%row = simt.block_id {axis = 0 : i64}")
    w2 = Layout((1, columns), *[tuple((0, *b) for b in bases) for bases in (layout.regs, layout.lanes, layout.warps)])
    w.load("v", "x", x, ["%row", "%zero"], w2, dtype)
    lt = cpu.layout_text(w2)
    w.line(
        f"%p = simt.fragment_reduce %v {{layout = {lt}, shape = array<i64: 1, {columns}>, "
        f'kind = "sum", axis = 1 : i64}} : vector<{w2.registers}x{dtype}> -> vector<1x{dtype}>'
    )
    masks = [1 << b for b in range(5) if not layout.replica_lanes >> b & 1]
    total = butterfly(w, "p", f"vector<1x{dtype}>", masks, "arith.addf")
    done = w2.drop_axis(1)
    if warps > 1:
        # Each warp writes its partial sum; all threads read them all.
        bits = tuple((1 << i,) for i in range(len(layout.warps)))
        per_warp = Layout((warps,), (), ((0,),) * 5, bits)
        all_warps = Layout((warps,), bits, ((0,),) * 5, ((0,),) * len(layout.warps))
        buffer = f"!tile.buffer<{warps}x{dtype}>"
        w.line(f"%s = simt.alloc_shared {{offset = 0 : i64}} : {buffer}")
        w.line(f"simt.shared_store %{total}, %s {{layout = {cpu.layout_text(per_warp)}}} : vector<1x{dtype}>, {buffer}")
        w.line("simt.barrier")
        w.line(
            f"%q = simt.shared_load %s {{layout = {cpu.layout_text(all_warps)}}} : {buffer} -> vector<{warps}x{dtype}>"
        )
        mask = layout.replica_warps
        assert mask == 0
        w.line(
            f"%r = simt.fragment_reduce %q {{layout = {cpu.layout_text(all_warps)}, shape = array<i64: {warps}>, "
            f'kind = "sum", axis = 0 : i64}} : vector<{warps}x{dtype}> -> vector<1x{dtype}>'
        )
        total = "r"
    one = done.add_axis(0).drop_axis(1)
    w.store(total, "out", out, ["%row"], one, dtype)
    return w.compile()


@pytest.mark.parametrize(("columns", "warps"), [(1024, 4), (257, 1), (257, 4), (31, 1), (1000, 8)])
def test_row_sum(cpu: Any, columns: int, warps: int) -> None:
    rows = 7
    x = np.random.default_rng(1).standard_normal((rows, columns)).astype(np.float32)
    out = cpu.guarded(np.zeros(rows, np.float32))
    row_sum(cpu, columns, warps)(cpu.guarded(x), out, grid=(rows,), shared=4096)
    np.testing.assert_allclose(out, x.astype(np.float64).sum(1), rtol=0, atol=1e-4)
