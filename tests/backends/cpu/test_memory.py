"""Loads and stores of fragments: every type, bounds outcome, stride and odd extent, next to pages that fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.layout import Layout, coalesced

Array = np.ndarray[Any, Any]


def copy_program(cpu: Any, dtype: str, layout: Layout, unit: int | None, bounds: str, padding: str = "") -> Any:
    """out[tile] = x[tile] at the offsets that are the kernel's last arguments."""
    rank, element = len(layout.shape), str(DTYPES[dtype].ir)
    w = cpu.Writer(threads=layout.threads)
    x, out = w.view("x", dtype, rank, unit=unit), w.view("out", dtype, rank, owned=True, unit=unit)
    offsets = [f"%o{axis}" for axis in range(rank)]
    for axis in range(rank):
        w.scalar(f"o{axis}", "i64")
    more = f", bounds = #tile.bounds<{bounds}>" if bounds else ""
    w.load("v", "x", x, offsets, layout, element, more + padding)
    w.store("v", "out", out, offsets, layout, element, more)
    return w.compile()


def sample(shape: tuple[int, ...], dtype: str) -> Array:
    rng = np.random.default_rng(7)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype == "f8e8m0fnu":  # has no zero, no negative numbers, and NaNs that NumPy does not call equal
        return rng.integers(0, 255, shape, np.uint8).view(DTYPES[dtype].numpy)
    return rng.integers(-100, 100, shape).astype(DTYPES[dtype].numpy)


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("dtype", list(DTYPES))
def test_every_type(cpu: Any, dtype: str, end: bool) -> None:
    for n in (1, 37, 64):
        layout = coalesced((64,), (0,), 4, 1)
        x = cpu.guarded(sample((n,), dtype), end=end)
        out = cpu.guarded(np.zeros_like(x), end=end)
        copy_program(cpu, dtype, layout, 0, "masked [0]")(x, out, 0)
        np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("offset", [0, 100, 700, 1023, 1024, 5000, -3, -255, -256, -5000, (1 << 63) - 1, -(1 << 63)])
@pytest.mark.parametrize("bounds", ["masked [0]", "hoisted [0]", ""])
def test_offsets_in_and_out_of_the_array(cpu: Any, offset: int, bounds: str) -> None:
    x = sample((1024,), "f32")
    layout = coalesced((257,), (0,), 8, 1)
    out = cpu.guarded(np.full(1024, 5, np.float32))
    copy_program(cpu, "f32", layout, 0, bounds)(cpu.guarded(x), out, offset)
    expected = np.full(1024, 5, np.float32)
    inside = [i for i in range(offset, offset + 257) if 0 <= i < 1024] if abs(offset) < 1 << 40 else []
    expected[inside] = x[inside]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("unit", [0, 1, None])
@pytest.mark.parametrize("shape", [(16, 32), (5, 7), (33, 3), (1, 100)])
def test_matrices(cpu: Any, shape: tuple[int, int], unit: int | None, order: tuple[int, int]) -> None:
    layout = coalesced((16, 32), order, 8, 2)
    program = copy_program(cpu, "f32", layout, unit, "masked [0, 1]")
    x = sample(shape, "f32")
    if unit == 0:
        x = np.asfortranarray(x)
    out = np.zeros_like(x)
    flat_x, flat_out = (cpu.guarded(a.ravel(order="K")) for a in (x, out))
    shaped = [a.reshape(shape, order="F" if unit == 0 else "C") for a in (flat_x, flat_out)]
    for row in range(0, shape[0], 16):
        for column in range(0, shape[1], 32):
            program(*shaped, row, column)
    np.testing.assert_array_equal(shaped[1], x)


@pytest.mark.parametrize("bounds", ["masked [0, 1]", "hoisted [1]", "proved []", "launch []"])
def test_outcomes(cpu: Any, bounds: str) -> None:
    x = sample((32, 64), "f16")
    out = cpu.guarded(np.zeros_like(x))
    program = copy_program(cpu, "f16", coalesced((16, 32), (0, 1), 8, 1), 1, bounds)
    for row in (0, 16):
        for column in (0, 32):
            program(cpu.guarded(x), out, row, column)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("dtype", ["f32", "i8", "f16", "bool"])
def test_strides(cpu: Any, dtype: str) -> None:
    base = sample((40, 50), dtype)
    program = copy_program(cpu, dtype, coalesced((16, 16), (0, 1), 4, 1), None, "masked [0, 1]")
    for view in (
        base[::2, ::3],
        base[::-1, ::-1],
        base.T,
        base[:, ::-2],
        base[3:3],
        np.broadcast_to(base[:1], (20, 50)),
    ):
        out = np.zeros(view.shape, view.dtype)
        target = out[::-1]  # written backwards, too
        for row in range(0, view.shape[0], 16):
            for column in range(0, view.shape[1], 16):
                program(view, target, row, column)
        np.testing.assert_array_equal(target, view)


@pytest.mark.parametrize(("dtype", "padding", "value"), [
    ("f32", "-inf", -np.inf), ("f32", "1.5", 1.5), ("i32", "-7", -7), ("bf16", "2.0", 2.0), ("f16", "3.0", 3.0),
    ("f8e5m2", "1.0", 1.0), ("bool", "1", True),
])  # fmt: skip
def test_padding(cpu: Any, dtype: str, padding: str, value: Any) -> None:
    layout, d = coalesced((64,), (0,), 4, 1), DTYPES[dtype]
    text = {"-inf": "0xFF800000", "1": "true"}.get(padding, padding)
    typed = text if dtype == "bool" else f"{text} : {d.ir}"
    w = cpu.Writer(threads=32)
    x, out = w.view("x", dtype), w.view("out", dtype, owned=True)
    w.line("%z = arith.constant 0 : i64")
    w.load("v", "x", x, ["%z"], layout, str(d.ir), f", bounds = #tile.bounds<masked [0]>, padding = {typed}")
    w.store("v", "out", out, ["%z"], layout, str(d.ir), ", bounds = #tile.bounds<proved []>")
    x_, out_ = cpu.guarded(sample((37,), dtype)), cpu.guarded(np.zeros(64, d.numpy))
    w.compile()(x_, out_)
    np.testing.assert_array_equal(out_[:37], x_)
    np.testing.assert_array_equal(out_[37:], np.full(27, value, d.numpy))


def test_proved_access_touches_no_phantom(cpu: Any) -> None:
    """A tile of 37 in a layout of 64: what lies behind the array is not read although the access is proved."""
    layout = coalesced((37,), (0,), 2, 1)
    assert layout.has_phantoms
    x, out = cpu.guarded(sample((37,), "f32")), cpu.guarded(np.zeros(37, np.float32))
    copy_program(cpu, "f32", layout, 0, "proved []")(x, out, 0)
    np.testing.assert_array_equal(out, x)


def test_replicas_write_once(cpu: Any) -> None:
    """Four warps hold the same eight elements, but their registers differ: only the first of the replicas writes."""
    layout = coalesced((8,), (0,), 1, 4)
    assert layout.replica_warps and layout.replica_lanes
    w = cpu.Writer(threads=128)
    out = w.view("out", "i32", owned=True)
    w.line("%z = arith.constant 0 : i64")
    w.line("%t = simt.thread_id")
    w.line("%v = simt.splat %t : i32 -> vector<1xi32>")
    w.store("v", "out", out, ["%z"], layout, "i32", ", bounds = #tile.bounds<proved []>")
    out_ = np.full(8, -1, np.int32)
    w.compile()(out_)
    np.testing.assert_array_equal(out_, np.arange(8))


def test_offsets_beyond_31_bits(cpu: Any) -> None:
    """Index arithmetic of an array of 2**40 elements whose memory is one row: the strides are 0 and 1."""
    row = sample((64,), "f32")
    big = np.lib.stride_tricks.as_strided(row, (1 << 40, 64), (0, 4))
    out = np.zeros(64, np.float32)
    target = np.lib.stride_tricks.as_strided(out, (1 << 40, 64), (0, 4))
    copy_program(cpu, "f32", coalesced((1, 64), (0, 1), 4, 1), 1, "masked [0, 1]")(big, target, (1 << 40) - 1, 0)
    np.testing.assert_array_equal(out, row)
    copy_program(cpu, "f32", coalesced((1, 64), (0, 1), 4, 1), 1, "masked [0, 1]")(big, target, 1 << 40, 0)


def test_grid_of_three_axes(cpu: Any) -> None:
    w = cpu.Writer(threads=32)
    out = w.view("out", "i64", 3, owned=True, unit=None)
    for axis in range(3):
        w.line(f"%b{axis} = simt.block_id {{axis = {axis} : i64}}")
        w.line(f"%g{axis} = simt.grid_dim {{axis = {axis} : i64}}")
    w.line("%p = arith.muli %b2, %g1 : i64")
    w.line("%q = arith.addi %p, %b1 : i64")
    w.line("%r = arith.muli %q, %g0 : i64")
    w.line("%s = arith.addi %r, %b0 : i64")
    w.line("%v = simt.splat %s : i64 -> vector<1xi64>")
    layout = coalesced((1, 1, 1), (0, 1, 2), 1, 1)
    w.store("v", "out", out, ["%b0", "%b1", "%b2"], layout, "i64")
    out_ = np.full((3, 4, 5), -1, np.int64)
    w.compile()(out_, grid=(3, 4, 5))
    np.testing.assert_array_equal(out_, np.arange(60).reshape(5, 4, 3).T)


def test_rank_zero(cpu: Any) -> None:
    """One element without axes: every thread reads it, one writes it."""
    layout = Layout((), (), ((),) * 5, ((),))
    w = cpu.Writer(threads=64)
    x = w.view("x", "f32", 0, unit=None)
    out = w.view("out", "f32", 0, unit=None, owned=True)
    w.load("v", "x", x, [], layout, "f32")
    w.line("%r = arith.addf %v, %v : vector<1xf32>")
    w.store("r", "out", out, [], layout, "f32")
    x_, out_ = cpu.guarded(np.array(1.5, np.float32)), cpu.guarded(np.array(0, np.float32))
    w.compile()(x_, out_)
    assert out_ == 3


def test_an_empty_grid_does_nothing(cpu: Any) -> None:
    layout = coalesced((32,), (0,), 1, 1)
    program = copy_program(cpu, "f32", layout, 0, "masked [0]")
    out = np.full(4, 7, np.float32)
    program(np.zeros(4, np.float32), out, 0, grid=(0, 3, 0))
    assert (out == 7).all()
