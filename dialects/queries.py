"""What the tile and the simt dialect ask of the grid in the same way."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, eq, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import integer


class GridQuery(IRDLOperation):
    """Base of ops that give an i64 for one axis of the grid: the launch's, or with `physical` the hardware's, which is
    another where blocks take several of the launch's blocks in turn."""

    axis = prop_def(integer("axis"))
    physical = opt_prop_def(UnitAttr)
    result = result_def(eq(i64))
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if not 0 <= self.axis.value.data <= 2:
            raise VerifyException("a grid has the axes 0, 1 and 2")
