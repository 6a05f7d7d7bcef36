"""Accesses that find out as they run whether their row is aligned: simulated for every phase and end against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from llvm_simulator import Kernel
from nvidia_programs import emit_text, kernel_text

from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.layout import Layout, coalesced

Array = np.ndarray[Any, Any]
ROWS = 3
ELEMENTS = {"i8": np.uint8, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "i64": np.uint64, "i1": np.bool_}
CONTRACT = "{tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [1, 1]>}"


def values(shape: tuple[int, int], element: str) -> Array:
    raw = np.arange(1, 1 + shape[0] * shape[1])
    return ((raw % 3 == 1) if element == "i1" else raw % 100).astype(ELEMENTS[element]).reshape(shape)


def copy_text(layout: Layout, element: str, vector: int, padding: str) -> str:
    """A kernel that copies a row's tile, %i elements before the row's start, to a row of %y that many before its."""
    common = (
        f"layout = {LayoutAttr.of(layout)}, shape = array<i64: 1, {layout.shape[1]}>, vector = {vector} : i64, phased, "
        "bounds = #tile.bounds<masked [0, 1]>"
    )
    body = (
        f"%v = simt.fragment_load %x[%row, %i] {{{common}, padding = {padding}}} : "
        f"!tile.view<?x?x{element}, shared> -> vector<{layout.registers}x{element}>\n"
        f"simt.fragment_store %v, %y[%to, %j] {{{common}}} : "
        f"vector<{layout.registers}x{element}>, !tile.view<?x?x{element}, owned>\n"
    )
    arguments = [
        f"%x: !tile.view<?x?x{element}, shared> {CONTRACT}",
        f"%y: !tile.view<?x?x{element}, owned> {CONTRACT}",
        *(f"%{name}: i64" for name in ("row", "i", "to", "j")),
    ]
    return kernel_text(body, arguments, threads=layout.threads)


def run(llvm: str, layout: Layout, x: Array, y: Array, numbers: tuple[int, int, int, int]) -> None:
    """Runs one block on whole arrays, with the strides of rows that lie one after the other."""
    views = [v for a in (x, y) for v in (a, *a.shape, a.shape[1], 1)]
    Kernel(llvm).run([*views, *numbers], (1,), layout.threads)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("columns", [250, 251, 253, 256])
def test_every_phase(element: str, columns: int) -> None:
    """Rows of one array go to rows of another at the same shift: alike, or (of odd rows to others) not."""
    size = np.dtype(ELEMENTS[element]).itemsize
    width = 16 // size
    layout = coalesced((1, 512), (0, 1), width, 2)
    llvm = emit_text(copy_text(layout, element, width, "0 : i64" if element == "i64" else _zero(element)), "sm_80")
    x = values((ROWS, columns), element)
    for row in range(ROWS):
        for to in range(ROWS):
            shift = row * columns % width
            y = np.zeros_like(x)
            run(llvm, layout, x, y, (row, -shift, to, -shift))
            want = np.zeros_like(x)
            want[to] = x[row]
            np.testing.assert_array_equal(y, want)


def _zero(element: str) -> str:
    return {"i8": "0 : i8", "i1": "false"}.get(element, f"0.0 : {element}")


@pytest.mark.parametrize("shift", [0, 1, 3, 4, 5, 130])
@pytest.mark.parametrize("columns", [1, 2, 3, 5, 127, 260, 700])
def test_what_is_outside_is_padding_and_not_written(shift: int, columns: int) -> None:
    """A row that ends inside the tile or beyond it, from any start; a copy to column 0 on shows what was read."""
    layout = coalesced((1, 384), (0, 1), 4, 1)
    llvm = emit_text(copy_text(layout, "f32", 4, "-2.5 : f32"), "sm_90a")
    x = values((ROWS, columns), "f32")
    for row in range(ROWS + 1):
        y = np.full((2, 384), 9, np.float32)
        run(llvm, layout, x, y, (row, -shift, 1, 0))
        want = np.full((2, 384), 9, np.float32)
        want[1] = -2.5
        if row < ROWS:
            taken = min(columns, 384 - shift)
            want[1, shift : shift + taken] = x[row, :taken]
        np.testing.assert_array_equal(y, want)
        # And back: only what is in the row is written.
        z = np.full((ROWS, columns), 7, np.float32)
        run(llvm, layout, want, z, (1, 0, row, -shift))
        back = np.full((ROWS, columns), 7, np.float32)
        if row < ROWS:
            back[row, : min(columns, 384 - shift)] = want[1, shift : shift + min(columns, 384 - shift)]
        np.testing.assert_array_equal(z, back)


def test_replicas_write_once_and_rows_of_a_tile_lie_alike() -> None:
    """More threads than elements, and a tile of four rows whose stride keeps the phase."""
    for layout in (coalesced((1, 32), (0, 1), 4, 2), coalesced((4, 64), (0, 1), 4, 2)):
        text = copy_text(layout, "f32", 4, "0.0 : f32").replace("array<i64: 1,", f"array<i64: {layout.shape[0]},")
        x = values((8, 60), "f32")
        y = np.zeros_like(x)
        run(emit_text(text, "sm_80"), layout, x, y, (2, 0, 3, 0))
        want = np.zeros_like(x)
        rows, columns = layout.shape
        want[3 : 3 + rows, :columns] = x[2 : 2 + rows, :columns]
        np.testing.assert_array_equal(y, want)
