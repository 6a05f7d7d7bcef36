"""Fragments of packed values (see `packed`): a thread holds both values of a byte."""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation
from xdsl.irdl import (
    BaseAttr,
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

from tileopt.dialects.checks import check_fragment, string
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.packed import MADE_OF, READ_AS, check_format

FRAGMENT = BaseAttr(VectorType)


@irdl_op_definition
class FragmentUnpack(IRDLOperation):
    """Registers 2r and 2r + 1 of the result are the low and the high four bits of register r."""

    name = "simt.fragment_unpack"
    source = operand_def(FRAGMENT)
    format = prop_def(string("format"))
    result = result_def(FRAGMENT)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        held = check_fragment(self.source.type, "the source")
        if check_fragment(self.result.type, "the result") != 2 * held:
            raise VerifyException(f"{self.source.type} holds {2 * held} values, the result is {self.result.type}")
        check_format(self.format, element_type(self.source.type), element_type(self.result.type), READ_AS)


@irdl_op_definition
class FragmentPack(IRDLOperation):
    """Register r of the result has register 2r in its low four bits and 2r + 1 in the high ones."""

    name = "simt.fragment_pack"
    source = operand_def(FRAGMENT)
    format = prop_def(string("format"))
    result = result_def(FRAGMENT)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        held = check_fragment(self.result.type, "the result")
        if check_fragment(self.source.type, "the source") != 2 * held:
            raise VerifyException(f"{self.result.type} holds {2 * held} values, the source is {self.source.type}")
        check_format(self.format, element_type(self.result.type), element_type(self.source.type), MADE_OF)


PackedOps: list[type[Operation]] = [FragmentUnpack, FragmentPack]
