"""Coordinates of fragments and places in shared memory, against the layout algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.layout import Layout, SharedLayout, coalesced
from tileopt.dialects.tile_types import BufferType

pytestmark = pytest.mark.usefixtures("both_widths")


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Bases in any order over registers, lanes and warps, with replicas, phantoms and repeats."""
    shape = draw(st.tuples(st.integers(1, 40), st.integers(1, 40)))
    warps = draw(st.integers(0, 2))
    places = ["lane"] * 5 + ["warp"] * warps + ["reg"] * draw(st.integers(0, 3))
    order = draw(st.permutations(places))
    base = [1, 1]
    bases: dict[str, list[tuple[int, int]]] = {"lane": [], "warp": [], "reg": []}
    for place in order:
        axis = draw(st.integers(0, 1 if place == "reg" else 2))
        if axis == 2 or base[axis] > 64:
            bases[place].append((0, 0))
            continue
        bases[place].append((base[0], 0) if axis == 0 else (0, base[1]))
        base[axis] *= 2
    regs = tuple(b for b in bases["reg"] if any(b))
    return Layout(shape, regs, tuple(bases["lane"]), tuple(bases["warp"]))


@settings(max_examples=15)
@given(layout=layouts(), axis=st.integers(0, 1), element=st.sampled_from(["i32", "i64"]))
def test_coordinates(cpu: Any, layout: Layout, axis: int, element: str) -> None:
    """Each thread writes the coordinates of its registers to its own row."""
    if layout.registers > 512:
        return
    w = cpu.Writer(threads=layout.threads)
    out = w.view("out", element, 2, owned=True, unit=1)
    w.line("%z = arith.constant 0 : i64")
    w.line(
        f"%v = simt.fragment_coord {{layout = {cpu.layout_text(layout)}, shape = array<i64: {layout.shape[0]}, "
        f"{layout.shape[1]}>, axis = {axis} : i64}} : vector<{layout.registers}x{element}>"
    )
    bits = layout.threads.bit_length() - 1
    rows = tuple((1 << b, 0) for b in range(bits))
    spread = Layout((layout.threads, layout.registers), (), rows[:5], rows[5:])
    w.store("v", "out", out, ["%z", "%z"], spread, element)
    out_ = np.full((layout.threads, layout.registers), -1, DTYPES[element].numpy)
    w.compile()(out_)
    for thread in range(layout.threads):
        lane, warp = thread % 32, thread // 32
        expected = [layout.coord(r, lane, warp)[axis] for r in range(layout.registers)]
        assert out_[thread].tolist() == expected


SHARED = [
    SharedLayout((16, 32), (0, 1)),
    SharedLayout((16, 32), (1, 0)),
    SharedLayout((16, 32), (0, 1), pad=4),
    SharedLayout((16, 32), (0, 1), 3, 2, 3),
    SharedLayout((16, 32), (1, 0), 2, 1, 4),
    SharedLayout((16, 32), (0, 1), 2, 1, 3, panel=8),
    SharedLayout((13, 27), (0, 1), pad=1),
]


@pytest.mark.parametrize("shared", SHARED, ids=str)
@pytest.mark.parametrize(("dtype", "spread"), [("f32", ((0, 1), 4)), ("bool", ((1, 0), 2)), ("f16", ((0, 1), 1))])
def test_places_in_shared_memory(cpu: Any, shared: SharedLayout, dtype: str, spread: Any) -> None:
    """A tile is written where the layout says, and read back from there by another layout."""
    d, shape = DTYPES[dtype], shared.shape
    write, read = coalesced(shape, spread[0], spread[1], 2), coalesced(shape, (0, 1), 2, 2)
    e, buffer = str(d.ir), str(BufferType.of(shape, d.ir, shared))
    w = cpu.Writer(threads=64)
    x, out = w.view("x", dtype, 2, unit=1), w.view("out", dtype, 2, owned=True, unit=1)
    w.line("%z = arith.constant 0 : i64")
    w.load("v", "x", x, ["%z", "%z"], write, e)
    w.line(f"%s = simt.alloc_shared {{offset = 16 : i64}} : {buffer}")
    vector = f"vector<{write.registers}x{e}>"
    w.line(f"simt.shared_store %v, %s {{layout = {cpu.layout_text(write)}}} : {vector}, {buffer}")
    w.line("simt.barrier")
    vector = f"vector<{read.registers}x{e}>"
    w.line(f"%r = simt.shared_load %s {{layout = {cpu.layout_text(read)}}} : {buffer} -> {vector}")
    w.store("r", "out", out, ["%z", "%z"], read, e)
    rng = np.random.default_rng(3)
    tile = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(d.numpy)
    out_ = cpu.guarded(np.zeros_like(tile))
    memory = w.compile()(cpu.guarded(tile), out_, shared=16 + shared.size * d.bytes)
    np.testing.assert_array_equal(out_, tile)
    held = memory[16:].view(d.numpy)
    for at in np.ndindex(*shape):
        assert held[shared.index(at)] == tile[at], at
