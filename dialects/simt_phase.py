"""`simt.phase`: where an element lies between addresses that wide accesses start from."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import integer
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.tile_types import ViewType


@irdl_op_definition
class Phase(IRDLOperation):
    """By how many elements the one at the offsets lies beyond an address that is a multiple of `bytes`.

    Nothing is read: the element need not exist.
    """

    name = "simt.phase"
    view = operand_def(ViewType)
    offsets = var_operand_def(eq(i64))
    bytes = prop_def(integer("bytes"))
    result = result_def(eq(i64))
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$view `[` $offsets `]` attr-dict `:` type($view)"

    def verify_(self) -> None:
        assert isinstance(self.view.type, ViewType)
        if len(self.offsets) != self.view.type.rank:
            raise VerifyException(f"{len(self.offsets)} offsets for an array of rank {self.view.type.rank}")
        size, whole = max(1, bit_width(self.view.type.element_type) // 8), self.bytes.value.data
        if whole < size or whole & (whole - 1):
            raise VerifyException(f"{whole} bytes are no power of two that holds elements of {size}")


PhaseOps: list[type[Operation]] = [Phase]
