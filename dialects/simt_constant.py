"""Arrays that are part of a kernel's code."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    MessageConstraint,
    ParsePropInAttrDict,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import string
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.tile_types import DYNAMIC, Access, ViewType

MAX_CONSTANT_BYTES = 1 << 16  # the constant memory of a kernel (CUDA C++ Programming Guide, "Technical Specifications")


@irdl_op_definition
class Constant(IRDLOperation):
    """An array of known elements, row-major; on a GPU in constant memory. `array`: what the source calls it."""

    name = "simt.constant"
    value = prop_def(MessageConstraint(BaseAttr(DenseIntOrFPElementsAttr), "value is a dense attribute"))
    array = prop_def(string("array"))
    result = result_def(ViewType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"

    def verify_(self) -> None:
        assert isinstance(self.value, DenseIntOrFPElementsAttr) and isinstance(self.result.type, ViewType)
        view, data = self.result.type, self.value.type
        shape = view.get_shape()
        if view.access.data != Access.SHARED or DYNAMIC in shape:
            raise VerifyException(f"a constant is a shared view of known extents, not {view}")
        if data != TensorType(view.element_type, shape):
            raise VerifyException(f"{data} is not the content of {view}")
        if not 0 < bytes_of(view) <= MAX_CONSTANT_BYTES:
            raise VerifyException(f"a constant has 1 to {MAX_CONSTANT_BYTES} bytes, not {bytes_of(view)}")


def bytes_of(view: ViewType) -> int:
    """Bytes of an array of known extents; a bool takes one."""
    return prod(view.get_shape()) * max(1, bit_width(view.element_type) // 8)


ConstantOps: list[type[Operation]] = [Constant]
