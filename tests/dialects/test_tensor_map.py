"""tensor_map: what the copy engine cannot move, and why; what it can, and with which map."""

from __future__ import annotations

import pytest
from xdsl.ir import Block

from tileopt.dialects import simt
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.layout import Coord, SharedLayout
from tileopt.dialects.tensor_map import TensorMap, copied_rows, swizzle_bytes, tensor_map, unfit
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.layout.buffers import panelled_layout


def view(facts: str | None, element: str = "bf16", rank: int = 2) -> simt.Kernel:
    """A kernel with one array."""
    contract = "" if facts is None else f" {{tile.contract = #tile.contract<{facts}>}}"
    text = f"simt.kernel @f(%x: !tile.view<{'?x' * rank}{element}, shared>{contract}) {{\nsimt.return\n}}"
    (found,) = parse_module(create_context(), text).body.block.ops
    assert isinstance(found, simt.Kernel)
    return found


def facts(rank: int = 2, unit: int | None = None, align: int = 16, stride: int = 8, regular: bool = True) -> str:
    unit = rank - 1 if unit is None else unit
    strides = ", ".join("1" if axis == unit else str(stride) for axis in range(rank))
    tail = ", regular" if regular else ""
    return f"align = {align}, unit = {unit}, shape = [{', '.join(['1'] * rank)}], stride = [{strides}]{tail}"


def buffer(shape: Coord, element: str = "bf16", order: Coord | None = None) -> BufferType:
    order = tuple(range(len(shape))) if order is None else order
    type_ = DTYPES[element].ir
    return BufferType.of(shape, type_, panelled_layout(shape, type_, order))


def why(kernel: simt.Kernel, type_: BufferType) -> str | None:
    return unfit(kernel.body.block.args[0], type_)


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_ranks(rank: int) -> None:
    assert why(view(facts(rank), rank=rank), buffer((4,) * (rank - 1) + (64,))) is None


def test_six_axes_are_too_many() -> None:
    assert "rank 6" in str(why(view(facts(6), rank=6), buffer((1, 1, 1, 1, 4, 64))))


@pytest.mark.parametrize(("element", "stride"), [("f32", 4), ("bf16", 8), ("i8", 16), ("f64", 2)])
def test_strides_in_bytes(element: str, stride: int) -> None:
    """16 bytes divide a stride of so many elements."""
    assert why(view(facts(stride=stride), element), buffer((8, 64), element)) is None
    assert "stride along axis 0" in str(why(view(facts(stride=stride // 2), element), buffer((8, 64), element)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "not known to have extents"),
        (facts(regular=False), "not known to have extents"),
        (facts(align=8), "address is not known to be a multiple of 16"),
        (facts(unit=0), "does not lie side by side"),
    ],
)
def test_arrays(given: str | None, message: str) -> None:
    assert message in str(why(view(given), buffer((8, 64))))


def test_the_axis_that_lies_side_by_side_may_be_any() -> None:
    assert why(view(facts(unit=0)), buffer((64, 8), order=(1, 0))) is None
    assert "side by side" in str(why(view(facts()), buffer((64, 8), order=(1, 0))))


def test_boxes() -> None:
    assert why(view(facts()), buffer((256, 64))) is None
    assert "256 elements a side" in str(why(view(facts()), buffer((257, 64))))
    # A longer row is copied in panels of 128 bytes.
    assert why(view(facts()), buffer((8, 1024))) is None
    assert "256 elements a side" in str(why(view(facts(1), rank=1), BufferType.of((512,), DTYPES["bf16"].ir)))


def layouts(element: str) -> list[tuple[SharedLayout, int | None]]:
    size = DTYPES[element].bits // 8
    chunk = (16 // size).bit_length() - 1

    def rows(width: int, bits: int, shift: int = 3, base: int = chunk, pad: int = 0, panel: int = 0) -> SharedLayout:
        return SharedLayout((8, width // size), (0, 1), bits, base, shift, pad, panel)

    return [
        (rows(128, 3), 128),
        (rows(64, 2), 64),
        (rows(32, 1), 32),
        (rows(16, 0), 0),
        (rows(48, 0), 0),
        (rows(256, 3, panel=128 // size), 128),
        (rows(128, 2), None),  # the swizzle of another width
        (rows(128, 3, shift=4), None),
        (rows(128, 3, base=chunk + 1), None),
        (rows(8, 0), None),  # less than the engine's unit
        (rows(128, 0, pad=16 // size), None),
    ]


@pytest.mark.parametrize("element", ["i8", "bf16", "f32", "f64"])
def test_swizzles(element: str) -> None:
    size = DTYPES[element].bits // 8
    for shared, expected in layouts(element):
        assert swizzle_bytes(shared, size) == expected, shared
        reason = why(view(facts(stride=16), element), BufferType.of(shared.shape, DTYPES[element].ir, shared))
        assert (reason is None) is (expected is not None), shared
        if expected is None:
            assert "none of the hardware's" in str(reason)


@pytest.mark.parametrize("element", ["i8", "bf16", "f32"])
@pytest.mark.parametrize("width", [16, 32, 64, 128, 256])
def test_panelled_buffers_lie_as_the_engine_writes_them(element: str, width: int) -> None:
    """The engine writes 16-byte pieces of rows of up to 128 bytes, permuted by the row's number in a pattern of 128
    bytes' rows: a panel after the other, from what `copied_rows` says."""
    size = DTYPES[element].bits // 8
    type_ = buffer((16, width // size), element)
    shared = type_.shared_layout
    row = copied_rows(shared) * size
    swizzle = swizzle_bytes(shared, size)
    assert swizzle is not None and row == min(width, 128)
    for r in range(16):
        for c in range(width // size):
            panel, within = divmod(c * size, row)
            address = r * row + within
            if swizzle:
                address ^= (address >> 7 & swizzle // 16 - 1) << 4
            assert shared.index((r, c)) * size == panel * 16 * row + address


def test_the_map() -> None:
    kernel = view(facts(unit=0))
    found = tensor_map(kernel.body.block.args[0], buffer((128, 8), order=(1, 0)))
    assert found == TensorMap(parameter=0, dtype="bf16", order=(1, 0), box=(64, 8), swizzle=128)


def test_what_is_no_parameter_has_no_map() -> None:
    loose = Block(arg_types=[view(facts()).body.block.args[0].type]).args[0]
    assert "not a parameter" in str(unfit(loose, buffer((8, 64))))
