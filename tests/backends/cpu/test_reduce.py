"""Reductions of a thread's registers: kinds, types, phantoms, every axis; compared with the elements one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.layout import Layout, coalesced

pytestmark = pytest.mark.usefixtures("both_widths")

Array = np.ndarray[Any, Any]
LAYOUTS = {
    "one chunk": coalesced((32, 16), (0, 1), 4, 1),
    "repeats": coalesced((48, 40), (0, 1), 4, 1),
    "phantoms": coalesced((37, 21), (0, 1), 4, 2),
    "column": Layout((64, 3), ((1, 0), (2, 0)), ((4, 0), (8, 0), (16, 0), (32, 0), (0, 1)), ((0, 2),)),
    "interleaved": Layout((16, 64), ((0, 1), (1, 0), (0, 2), (2, 0)), ((0, 4), (0, 8), (0, 16), (0, 32), (4, 0)), ()),
}


def reduced(cpu: Any, layout: Layout, axis: int, kind: str, dtype: str, x: Array) -> tuple[Array, Array]:
    """Partial results of each thread (threads x results), and the same computed from the layout's elements."""
    e, left = str(DTYPES[dtype].ir), layout.drop_axis(axis)
    w = cpu.Writer(threads=layout.threads)
    view = w.view("x", dtype, 2, unit=1)
    out = w.view("out", dtype, 2, owned=True, unit=1)
    w.line("%z = arith.constant 0 : i64")
    w.load("v", "x", view, ["%z", "%z"], layout, e)
    w.line(
        f"%r = simt.fragment_reduce %v {{layout = {cpu.layout_text(layout)}, shape = array<i64: {layout.shape[0]}, "
        f'{layout.shape[1]}>, kind = "{kind}", axis = {axis} : i64}} : vector<{layout.registers}x{e}> -> '
        f"vector<{left.registers}x{e}>"
    )
    width = 1 << (left.registers - 1).bit_length()
    threads = layout.threads
    bits = threads.bit_length() - 1
    spread = tuple((1 << b, 0) for b in range(bits))
    store = Layout(
        (threads, left.registers), tuple((0, 1 << b) for b in range(width.bit_length() - 1)), spread[:5], spread[5:]
    )
    pads = ", ".join(str(min(r, left.registers - 1)) for r in range(width))
    w.line(
        f"%p = simt.fragment_select %r {{registers = array<i64: {pads}>}} : vector<{left.registers}x{e}> -> "
        f"vector<{width}x{e}>"
    )
    w.store("p", "out", out, ["%z", "%z"], store, e)
    out_ = np.zeros((threads, left.registers), DTYPES[dtype].numpy)
    w.compile()(x, out_)
    expected: dict[tuple[int, int], list[Any]] = {}
    place = {at: q for q, at in enumerate(left.register_coords)}
    for register, lane, warp, at in layout.elements():
        c = layout.register_coords[register]
        expected.setdefault((warp * 32 + lane, place[c[:axis] + c[axis + 1 :]]), []).append(x[at])
    return out_, expected  # type: ignore[return-value]


INTEGER = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce, "xor": np.bitwise_xor.reduce,
}  # fmt: skip


KINDS = ["sum", "prod", "max", "min", "and", "or", "xor", "umax", "umin"]
CASES = [(name, axis, "min") for name in LAYOUTS for axis in (0, 1)] + [("phantoms", 1, kind) for kind in KINDS]


@pytest.mark.parametrize(("name", "axis", "kind"), CASES)
def test_integers(cpu: Any, name: str, axis: int, kind: str) -> None:
    layout = LAYOUTS[name]
    x = np.random.default_rng(2).integers(-(1 << 31), 1 << 31, layout.shape, dtype=np.int64).astype(np.int32)
    out, expected = reduced(cpu, layout, axis, kind, "i32", x)
    for (thread, q), elements in expected.items():  # type: ignore[attr-defined]
        values = np.array(elements, np.int32)
        if kind.startswith("u"):
            want = INTEGER[kind[1:]](values.view(np.uint32)).view(np.int32)
        else:
            with np.errstate(over="ignore"):
                want = INTEGER[kind](values).astype(np.int32)
        assert out[thread, q] == want, (thread, q)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "f8e4m3fn"])
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
def test_floats(cpu: Any, dtype: str, kind: str) -> None:
    layout = LAYOUTS["phantoms"]
    rng = np.random.default_rng(2)
    # Powers of two in few steps: exact in every type and order.
    x = (2.0 ** rng.integers(0, 2, layout.shape) * rng.choice([-1, 1], layout.shape)).astype(DTYPES[dtype].numpy)
    if kind in ("sum",):
        x = rng.integers(-1, 2, layout.shape).astype(DTYPES[dtype].numpy)
    out, expected = reduced(cpu, layout, 1, kind, dtype, x)
    for (thread, q), elements in expected.items():  # type: ignore[attr-defined]
        want = INTEGER[kind](np.array(elements).astype(np.float64))
        assert float(out[thread, q]) == want, (thread, q)


def test_nan_wins(cpu: Any) -> None:
    layout = coalesced((1, 256), (0, 1), 8, 1)
    for kind in ("max", "min"):
        x = np.ones((1, 256), np.float32)
        x[0, ::8] = np.nan
        out, _ = reduced(cpu, layout, 1, kind, "f32", x)
        assert np.isnan(out).all()


def test_all_and_any(cpu: Any) -> None:
    layout = coalesced((1, 100), (0, 1), 4, 1)
    assert layout.has_phantoms
    x = np.ones((1, 100), np.bool_)
    out, expected = reduced(cpu, layout, 1, "and", "bool", x)
    assert all(out[t, q] for t, q in expected)
    out, expected = reduced(cpu, layout, 1, "or", "bool", ~x)
    assert not any(out[t, q] for t, q in expected)
