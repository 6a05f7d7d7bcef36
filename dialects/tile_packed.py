"""Tiles of packed values, and elements repeated along an axis."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import (
    check_axis,
    check_same_layout,
    check_tile,
    integer,
    is_power_of_two,
    layouts_of,
    string,
)
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.packed import MADE_OF, READ_AS, check_format
from tileopt.dialects.tile_types import tile_shape


class _AlongAxis(IRDLOperation):
    """An op whose source and result differ in one extent."""

    source = operand_def(TensorType)
    axis = prop_def(integer("axis"))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    def check_extents(self, narrow: TensorType, wide: TensorType, count: int) -> int:
        """`wide` has `count` elements along the axis for each of `narrow`. Gives the axis."""
        check_tile(self.source.type, "the source")
        check_tile(self.result.type, "the result")
        check_axis(self.axis, len(tile_shape(self.source.type)), self.source.type)
        axis = self.axis.value.data
        few, many = tile_shape(narrow), tile_shape(wide)
        if len(few) != len(many) or many != (*few[:axis], few[axis] * count, *few[axis + 1 :]):
            raise VerifyException(f"axis {axis} of {list(many)} has not {count} times the extent of {list(few)}")
        return axis


@irdl_op_definition
class Unpack(_AlongAxis):
    """The values of a tile of bytes, two for each along `axis`, the low four bits first. See `packed`."""

    name = "tile.unpack"
    format = prop_def(string("format"))
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, TensorType) and isinstance(result, TensorType)
        axis = self.check_extents(source, result, 2)
        check_format(self.format, element_type(source), element_type(result), READ_AS)
        layouts = layouts_of(source, result)
        if layouts is not None:
            check_same_layout(layouts[0], layouts[1].thin(axis, 2), "source")
            if not layouts[1].holds_together(axis, 2):
                raise VerifyException("two values of a byte are in different threads")


@irdl_op_definition
class Pack(_AlongAxis):
    """Bytes of two values each, neighbours along `axis`, the first in the low four bits. Integers give their low bits;
    floats are rounded to the nearest even, too large ones and NaN to the largest."""

    name = "tile.pack"
    format = prop_def(string("format"))
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, TensorType) and isinstance(result, TensorType)
        axis = self.check_extents(result, source, 2)
        check_format(self.format, element_type(result), element_type(source), MADE_OF)
        layouts = layouts_of(source, result)
        if layouts is not None:
            check_same_layout(layouts[1], layouts[0].thin(axis, 2), "result")
            if not layouts[0].holds_together(axis, 2):
                raise VerifyException("two values of a byte are in different threads")


@irdl_op_definition
class Repeat(_AlongAxis):
    """Each element `count` times along `axis`, side by side: element i of the result is element i / count."""

    name = "tile.repeat"
    count = prop_def(integer("count"))
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        source, result, count = self.source.type, self.result.type, self.count.value.data
        assert isinstance(source, TensorType) and isinstance(result, TensorType)
        if not is_power_of_two(count):
            raise VerifyException(f"elements are repeated a power of two times, not {count}")
        axis = self.check_extents(source, result, count)
        if element_type(source) != element_type(result):
            raise VerifyException("source and result differ in element type")
        layouts = layouts_of(source, result)
        if layouts is not None:
            check_same_layout(layouts[0], layouts[1].thin(axis, count), "source")


PackedOps: list[type[Operation]] = [Unpack, Pack, Repeat]
