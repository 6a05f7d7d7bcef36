"""What rules of the lowering share: fragments' types and properties, and the registers of one in another order."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, VectorType, i64
from xdsl.ir import Attribute, SSAValue

from tileopt.dialects import simt
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.layout import Coord, Layout
from tileopt.passes.lowering.lower_tile_to_simt import Lowering


def shape_attr(shape: Coord) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, list(shape))


def span(layout: Layout) -> dict[str, Attribute]:
    """The properties that say over which tile a fragment op works."""
    return {"layout": LayoutAttr.of(layout), "shape": shape_attr(layout.shape)}


def vector_of(element: Attribute, layout: Layout) -> VectorType[Attribute]:
    return VectorType(element, [layout.registers])


def select(state: Lowering, value: SSAValue, registers: tuple[int, ...]) -> SSAValue:
    """Registers of `value` in the order given; the value itself where that changes nothing."""
    assert isinstance(value.type, VectorType)
    if registers == tuple(range(value.type.get_shape()[0])):
        return value
    result = VectorType(value.type.element_type, [len(registers)])
    return state.emit(simt.FragmentSelect, [value], [result], {"registers": shape_attr(registers)}).results[0]
