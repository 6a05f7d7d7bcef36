"""Products by the FMA loop: both memory orders, swizzles, padding, odd extents, narrow types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tileopt.dialects.layout import Layout, SharedLayout, coalesced
from tileopt.dialects.tile_types import BufferType

pytestmark = pytest.mark.usefixtures("both_widths")

IR = {
    "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64), "i8": np.dtype(np.int8), "i32": np.dtype(np.int32), "i64": np.dtype(np.int64),
    "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
}  # fmt: skip


def blocked(rows: int, columns: int, block: tuple[int, int]) -> Layout:
    """Blocks of block[0] x block[1] a thread, four lanes along the rows and eight along the columns."""
    regs: list[tuple[int, int]] = []
    base = [1, 1]
    for axis in (1, 0):
        while base[axis] < block[axis]:
            regs.append((base[0], 0) if axis == 0 else (0, base[1]))
            base[axis] *= 2
    lanes: list[tuple[int, int]] = []
    for axis in (1, 1, 1, 0, 0):
        lanes.append((base[0], 0) if axis == 0 else (0, base[1]))
        base[axis] *= 2
    return Layout((rows, columns), tuple(regs), tuple(lanes), ())


def program(
    cpu: Any, a: str, acc: str, shapes: tuple[int, int, int], la: SharedLayout, lb: SharedLayout, layout: Layout
) -> Any:
    from tileopt.dialects.dtypes import DTYPES

    m, n, k = shapes
    w = cpu.Writer(threads=32)
    e, c = str(DTYPES[a].ir), str(DTYPES[acc].ir)
    views = [w.view(name, a, 2, unit=None) for name in "ab"]
    vc = w.view("c", acc, 2, unit=None)
    vo = w.view("out", acc, 2, unit=None, owned=True)
    w.line("%z = arith.constant 0 : i64")
    offset = 0
    for name, view, shape, shared in zip("ab", views, ((m, k), (k, n)), (la, lb), strict=True):
        spread = coalesced(shape, (0, 1), 4, 1)
        w.load(f"f{name}", name, view, ["%z", "%z"], spread, e)
        buffer = str(BufferType.of(shape, DTYPES[a].ir, shared))
        w.line(f"%s{name} = simt.alloc_shared {{offset = {offset} : i64}} : {buffer}")
        offset += -(-shared.size * DTYPES[a].bytes // 16) * 16
        w.line(
            f"simt.shared_store %f{name}, %s{name} {{layout = {cpu.layout_text(spread)}}} : "
            f"vector<{spread.registers}x{e}>, {buffer}"
        )
    w.line("simt.barrier")
    w.load("acc", "c", vc, ["%z", "%z"], layout, c)
    fragment = f"vector<{layout.registers}x{c}>"
    types = ", ".join(str(BufferType.of(s, DTYPES[a].ir, x)) for s, x in (((m, k), la), ((k, n), lb)))
    w.line(f"%r = simt.dot %sa, %sb, %acc {{layout = {cpu.layout_text(layout)}}} : {types}, {fragment} -> {fragment}")
    w.store("r", "out", vo, ["%z", "%z"], layout, c)
    return w.compile(), offset


ROW, COLUMN = (0, 1), (1, 0)


@pytest.mark.parametrize("block", [(4, 4), (2, 8)])
@pytest.mark.parametrize(("order_a", "order_b"), [(ROW, ROW), (COLUMN, COLUMN)])
@pytest.mark.parametrize("swizzle", [(0, 0, 0, 0), (3, 2, 4, 0), (0, 0, 0, 4), (2, 1, 3, 0, 8)])
def test_orders(cpu: Any, block: tuple[int, int], order_a: Any, order_b: Any, swizzle: Any) -> None:
    m, n, k = 64, 32, 32
    la, lb = SharedLayout((m, k), order_a, *swizzle), SharedLayout((k, n), order_b, *swizzle)
    run, shared = program(cpu, "f32", "f32", (m, n, k), la, lb, blocked(m, n, block))
    check(cpu, run, shared, "f32", "f32", (m, n, k))


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (5, 20, 3), (33, 7, 17), (16, 65, 9)])
@pytest.mark.parametrize("block", [(1, 1), (2, 8)])
def test_odd_extents(cpu: Any, m: int, n: int, k: int, block: tuple[int, int]) -> None:
    la, lb = SharedLayout((m, k), ROW), SharedLayout((k, n), ROW)
    run, shared = program(cpu, "f32", "f32", (m, n, k), la, lb, blocked(m, n, block))
    check(cpu, run, shared, "f32", "f32", (m, n, k))


@pytest.mark.parametrize(
    ("a", "acc"),
    [
        ("f16", "f32"),
        ("bf16", "f32"),
        ("f8e4m3fn", "f32"),
        ("f64", "f64"),
        ("f16", "f16"),
        ("i8", "i32"),
        ("i64", "i64"),
    ],
)
def test_types(cpu: Any, a: str, acc: str) -> None:
    m, n, k = 32, 32, 16
    run, shared = program(
        cpu, a, acc, (m, n, k), SharedLayout((m, k), ROW), SharedLayout((k, n), ROW), blocked(m, n, (4, 4))
    )
    check(cpu, run, shared, a, acc, (m, n, k))


def check(cpu: Any, run: Any, shared: int, a: str, acc: str, shapes: tuple[int, int, int]) -> None:
    m, n, k = shapes
    rng = np.random.default_rng(3)
    x, y, c = (rng.integers(-8, 8, s) for s in ((m, k), (k, n), (m, n)))
    if a.startswith("f") or a == "bf16":
        x, y = x / 4, y / 4
    x, y, c = x.astype(IR[a]), y.astype(IR[a]), c.astype(IR[acc])
    out = cpu.guarded(np.zeros((m, n), IR[acc]))
    run(cpu.guarded(x), cpu.guarded(y), cpu.guarded(c), out, shared=shared)
    # Small integers and quarters: every product and sum is exact.
    expected = x.astype(np.float64) @ y.astype(np.float64) + c.astype(np.float64)
    np.testing.assert_array_equal(out.astype(np.float64), expected)
