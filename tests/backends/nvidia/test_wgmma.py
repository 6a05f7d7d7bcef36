# ruff: noqa: E501
"""Matrix descriptors against the layouts that they stand for; what ptxas makes of products of warpgroups."""

from __future__ import annotations

from typing import Any

import pytest
from nvidia_programs import emit_text, kernel_text

from tileopt.backends.nvidia.wgmma import SWIZZLE_MODE, UNIT, Described
from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.layout import SharedLayout
from tileopt.dialects.tile_types import BufferType
from tileopt.passes.layout.buffers import panelled_layout

F16 = DTYPES["f16"].ir
SHAPES = [(64, 16), (64, 32), (128, 64), (64, 128), (256, 192), (128, 96)]


def described(across: int, k: int, k_major: bool) -> Described:
    order = (0, 1) if k_major else (1, 0)
    return Described(BufferType.of((across, k), F16, panelled_layout((across, k), F16, order)), 1)


@pytest.mark.parametrize("k_major", [True, False])
@pytest.mark.parametrize(("across", "k"), SHAPES)
def test_steps_reach_the_elements(across: int, k: int, k_major: bool) -> None:
    """Where an operand of an instruction begins, the swizzle changes nothing: the element lies where it says."""
    places = described(across, k, k_major)
    shared = places.type.shared_layout
    stride = 8 if k_major else places.row
    for row in range(0, across, stride):
        for depth in range(0, k, 16):
            assert places.offset(row, depth) == 2 * shared.index((row, depth))


@pytest.mark.parametrize("k_major", [True, False])
@pytest.mark.parametrize(("across", "k"), SHAPES)
def test_strides_are_those_of_the_layout(across: int, k: int, k_major: bool) -> None:
    places = described(across, k, k_major)
    shared, constant = places.type.shared_layout, places.constant
    assert constant >> 62 == SWIZZLE_MODE[places.row * 2]
    group = shared.index((8, 0) if k_major else (0, 8)) - shared.index((0, 0))
    assert (constant >> 32 & 0x3FFF) * UNIT == 2 * group
    if not k_major and shared.panels > 1:
        panel = shared.index((places.row, 0)) - shared.index((0, 0))
        assert (constant >> 16 & 0x3FFF) * UNIT == 2 * panel


@pytest.mark.parametrize("row", [16, 32, 64])
def test_the_swizzle_is_the_hardwares(row: int) -> None:
    """PTX ISA, "Swizzling modes": 16-byte chunks of a row are permuted by the row's number within 128 bytes of rows."""
    shared = panelled_layout((64, row), F16, (0, 1))
    for r in range(64):
        for c in range(row):
            address = 2 * (r * row + c)
            chunk_bits = (row * 2 // 16).bit_length() - 1
            moved = address ^ ((address >> 7 & (1 << chunk_bits) - 1) << 4)
            assert 2 * shared.index((r, c)) == moved


def test_other_layouts_have_no_descriptor() -> None:
    padded = BufferType.of((64, 64), F16, SharedLayout((64, 64), (0, 1), pad=8))
    with pytest.raises(CompileError, match="no matrix descriptor"):
        _ = Described(padded, 1).constant


LANES, TURNED = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], [[0, 1], [0, 2], [2, 0], [16, 0], [4, 0]]
ACC_LANES, ACC_TURNED = [[0, 2], [0, 4], *LANES[2:]], [[0, 2], [0, 4], *TURNED[2:]]
WARPS, OTHER_WARPS = [[16, 0], [32, 0]], [[8, 0], [32, 0]]


@pytest.mark.parametrize(
    ("a", "acc", "fits"),
    [
        (([[8, 0], [0, 4]], LANES, WARPS), ([[0, 1], [8, 0]], ACC_LANES, WARPS), True),
        (([[1, 0], [0, 4]], TURNED, OTHER_WARPS), ([[0, 1], [1, 0]], ACC_TURNED, OTHER_WARPS), True),
        (([[1, 0], [0, 4]], TURNED, OTHER_WARPS), ([[0, 1], [8, 0]], ACC_LANES, WARPS), False),
        (([[0, 4], [8, 0]], LANES, WARPS), ([[0, 1], [8, 0]], ACC_LANES, WARPS), False),
    ],
)
def test_rows_of_a_and_of_the_accumulator_are_the_same(a: Any, acc: Any, fits: bool) -> None:
    """In whichever order they stand, since the instruction adds row by row."""

    def layout(parts: Any) -> str:
        return "#tile.layout<regs = {}, lanes = {}, warps = {}>".format(*parts)

    buffer = "!tile.buffer<8x16xf32, #tile.shared<order = [1, 0], swizzle = [1, 2, 3]>>"
    body = f"""%z = arith.constant 0.0 : f32
%a = simt.splat %z : f32 -> vector<4xf32>
%c = simt.splat %z : f32 -> vector<8xf32>
%b = simt.alloc_shared {{offset = 0 : i64}} : {buffer}
%d = gpu.wgmma %a, %b, %c {{atom = "wgmma_m64n16k8_tf32_f32", layout_a = {layout(a)}, layout_acc = {layout(acc)}}} : vector<4xf32>, {buffer}, vector<8xf32> -> vector<8xf32>"""
    text = kernel_text(body, threads=128, shared=512)
    if fits:
        assert "wgmma.mma_async.sync.aligned.m64n16k8" in emit_text(text, "sm_90a")
        return
    with pytest.raises(CompileError) as caught:
        emit_text(text, "sm_90a")
    assert caught.value.code == "gpu/fragment"
