"""Tiles added to arrays by `red` on vectors: simulated against NumPy, and which code comes of them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from llvm_simulator import Kernel
from nvidia_programs import compile_text, emit_text, kernel_text

from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.layout import Layout, coalesced

# Rows of 8 and columns of 32, as an accumulator of `wgmma` or `mma.sync` lies: a thread has pairs of columns.
PAIRS = Layout(
    (64, 32), ((0, 1), (8, 0), (0, 8), (0, 16)), ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)), ((16, 0), (32, 0))
)

ACCESS = {"x": "shared", "y": "atomic"}
LAYOUTS = [PAIRS, coalesced((64, 32), (0, 1), 4, 4), coalesced((8, 32), (0, 1), 4, 4)]  # the last with replicas


def text(layout: Layout, bounds: str, vector: int, element: str = "f32", kind: str = "add") -> str:
    """A kernel that adds the tile at (%i, %j) of %x to that at (%k, %l) of %y."""
    ones = [1] * len(layout.shape)
    contract = (
        f"{{tile.contract = #tile.contract<align = 16, unit = {len(ones) - 1}, shape = {ones}, stride = {ones}>}}"
    )
    shape = ", ".join(map(str, layout.shape))
    common = f"layout = {LayoutAttr.of(layout)}, shape = array<i64: {shape}>, bounds = #tile.bounds<{bounds}>"
    body = (
        f"%v = simt.fragment_load %x[%i, %j] {{{common}, vector = 1 : i64}} : "
        f"!tile.view<?x?x{element}, shared> -> vector<{layout.registers}x{element}>\n"
        f'simt.fragment_atomic %v, %y[%k, %l] {{{common}, kind = "{kind}", vector = {vector} : i64}} : '
        f"vector<{layout.registers}x{element}>, !tile.view<?x?x{element}, atomic>"
    )
    arguments = [
        f"%x: !tile.view<?x?x{element}, shared> {contract}",
        f"%y: !tile.view<?x?x{element}, atomic> {contract}",
    ]
    return kernel_text(body, [*arguments, *(f"%{name}: i64" for name in "ijkl")], threads=layout.threads)


@pytest.mark.parametrize("bounds", ["masked [0, 1]", "hoisted [0, 1]"])
@pytest.mark.parametrize(
    "layout", [PAIRS, coalesced((64, 32), (0, 1), 4, 4), coalesced((8, 32), (0, 1), 4, 4)], ids=str
)
@pytest.mark.parametrize("into", [(0, 0), (64, 32), (-5, -8), (99, 44), (200, 0)])
def test_a_tile_is_added(layout: Layout, bounds: str, into: tuple[int, int]) -> None:
    llvm = emit_text(text(layout, bounds, 4), "sm_90a")
    assert "red.relaxed.gpu.global.add.v" in llvm
    rng = np.random.default_rng()
    (m, n), x = layout.shape, rng.integers(-9, 9, layout.shape).astype(np.float32)
    y = rng.integers(-9, 9, (100, 48)).astype(np.float32)
    expected = y.copy()
    for at in np.ndindex(m, n):
        row, column = at[0] + into[0], at[1] + into[1]
        if 0 <= row < 100 and 0 <= column < 48:
            expected[row, column] += x[at]
    Kernel(llvm).run([x, m, n, n, 1, y, 100, 48, 48, 1, 0, 0, *into], (1,), layout.threads)
    np.testing.assert_array_equal(y, expected)


def words(program: str, target: str) -> set[str]:
    return set(re.findall(r"\b(?:red|atom)\.\S+", compile_text(program, target)[1]))


def test_which_code_comes_of_it() -> None:
    """Vectors from sm_90, for sums of f32, and where elements lie side by side; else an instruction for each."""
    wide = coalesced((64, 32), (0, 1), 4, 4)
    assert words(text(wide, "masked [0, 1]", 4), "sm_90") == {"red.relaxed.gpu.global.add.v4.f32"}
    assert words(text(PAIRS, "masked [0, 1]", 4), "sm_100a") == {"red.relaxed.gpu.global.add.v2.f32"}
    others = [(wide, 4, "f32", "add", "sm_80"), (wide, 1, "f32", "add", "sm_90a"), (wide, 2, "f64", "add", "sm_90a")]
    for layout, vector, element, kind, target in others:
        found = words(text(layout, "masked [0, 1]", vector, element, kind), target)
        assert found and not any(".v2" in word or ".v4" in word for word in found)
