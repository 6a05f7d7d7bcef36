"""xDSL's arith dialect, made to compare, select and convert tensors and vectors as MLIR's does, and with `arith.remf`.

xDSL 0.75 gives every `arith.cmpi`, `arith.cmpf` and `arith.select` a scalar i1, and converts scalar integers only. The
classes are mended in place, so `xdsl.dialects.arith.CmpiOp` is what it was for whoever looks ops up by class. Importing
this module does it.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloatConstr, IntegerType, TensorType, VectorType, container_of, i1
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import BaseAttr, OperandDef, ResultDef, eq, irdl_op_definition, traits_def
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.type import get_element_type_or_self

__all__ = ["Arith", "RemFOp", "bool_like"]

_BOOLS = container_of(eq(i1))
_SHAPED = (TensorType, VectorType)


@irdl_op_definition
class RemFOp(arith.FloatingPointLikeBinaryOperation):
    """What is left of a division rounded towards zero: exact, with the dividend's sign, as C's fmod."""

    name = "arith.remf"
    traits = traits_def(Pure())


# xDSL 0.75 has no op for this remainder.
Arith = Dialect(
    arith.Arith.name,
    [*arith.Arith.operations, RemFOp],
    list(arith.Arith.attributes),
    list(arith.Arith._interfaces),
)


def bool_like(type_: Attribute) -> Attribute:
    """The type of a comparison of values of `type_`: i1 in the same shape, with the same encoding."""
    if isinstance(type_, TensorType):
        return TensorType(i1, type_.get_shape(), type_.encoding)
    if isinstance(type_, VectorType):
        return VectorType(i1, type_.get_shape(), type_.scalable_dims)
    return i1


def _verify_comparison(self: Any) -> None:
    if self.lhs.type != self.rhs.type:
        raise VerifyException(f"a comparison of {self.lhs.type} and {self.rhs.type}")
    if self.result.type != bool_like(self.lhs.type):
        raise VerifyException(f"a comparison of {self.lhs.type} gives {bool_like(self.lhs.type)}")


def _verify_select(self: Any) -> None:
    condition = self.cond.type
    if isinstance(condition, IntegerType):
        return
    if bool_like(self.result.type) != condition:
        raise VerifyException(f"{condition} cannot choose among elements of {self.result.type}")


def _print_select(self: arith.SelectOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_list(self.operands, printer.print_ssa_value)
    printer.print_op_attributes(self.attributes)
    printer.print_string(" : ")
    if isinstance(self.cond.type, _SHAPED):
        printer.print_attribute(self.cond.type)
        printer.print_string(", ")
    printer.print_attribute(self.result.type)


def _parse_select(cls: type[arith.SelectOp], parser: Parser) -> arith.SelectOp:
    operands = [parser.parse_unresolved_operand()]
    for _ in range(2):
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    condition, type_ = None, parser.parse_type()
    if parser.parse_optional_punctuation(","):
        condition, type_ = type_, parser.parse_type()
    values = parser.resolve_operands(operands, [condition or i1, type_, type_], parser.pos)
    return cls.create(operands=values, result_types=[type_], attributes=attributes)


class _EqualOperands(RewritePattern):
    """xDSL's pattern makes a scalar constant: only scalars may have it."""

    def __init__(self, inner: RewritePattern) -> None:
        self.inner = inner

    def match_and_rewrite(self, op: Any, rewriter: Any) -> None:
        if isinstance(op, arith.CmpiOp) and op.result.type == i1:
            self.inner.match_and_rewrite(op, rewriter)


def _mend_comparison(op: type[arith.CmpiOp | arith.CmpfOp]) -> None:
    definition: Any = op.get_irdl_definition()
    definition.results[0] = ("result", ResultDef(_BOOLS))
    op.verify_ = _verify_comparison  # type: ignore[method-assign]
    make: Any = op.__init__

    def __init__(self: Any, operand1: Any, operand2: Any, *rest: Any, **named: Any) -> None:
        make(self, operand1, operand2, *rest, **named)
        self.results[0]._type = bool_like(SSAValue.get(operand1).type)

    op.__init__ = __init__  # type: ignore[method-assign]


_INTEGERS = container_of(BaseAttr(IntegerType))
_FLOATS = container_of(AnyFloatConstr)
_CONVERSIONS: dict[type[Any], tuple[Any, Any]] = {
    arith.SIToFPOp: (_INTEGERS, _FLOATS),
    arith.UIToFPOp: (_INTEGERS, _FLOATS),
    arith.FPToSIOp: (_FLOATS, _INTEGERS),
    arith.FPToUIOp: (_FLOATS, _INTEGERS),
    arith.ExtSIOp: (_INTEGERS, _INTEGERS),
    arith.ExtUIOp: (_INTEGERS, _INTEGERS),
    arith.TruncIOp: (_INTEGERS, _INTEGERS),
}


def _verify_resize(self: Any) -> None:
    source: Any = get_element_type_or_self(self.input.type)
    result: Any = get_element_type_or_self(self.result.type)
    narrow, wide = (result, source) if isinstance(self, arith.TruncIOp) else (source, result)
    if narrow.width.data >= wide.width.data:
        raise VerifyException(f"{self.input.type} to {self.result.type} is no change of width that {self.name} makes")


def _mend_conversions() -> None:
    for op in (arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp):
        op.verify_ = _verify_resize  # type: ignore[method-assign]
    for op, (source, result) in _CONVERSIONS.items():
        definition: Any = op.get_irdl_definition()
        definition.operands[0] = (definition.operands[0][0], OperandDef(source))
        definition.results[0] = (definition.results[0][0], ResultDef(result))


def _mend() -> None:
    _mend_conversions()
    _mend_comparison(arith.CmpiOp)
    _mend_comparison(arith.CmpfOp)
    patterns = arith.CmpiHasCanonicalizationPatterns.get_canonicalization_patterns()
    wrapped = tuple(_EqualOperands(p) for p in patterns)
    arith.CmpiHasCanonicalizationPatterns.get_canonicalization_patterns = classmethod(  # type: ignore[method-assign, assignment]
        lambda cls: wrapped
    )
    select: Any = arith.SelectOp
    select.get_irdl_definition().operands[0] = ("cond", OperandDef(_BOOLS))
    select.verify_ = _verify_select
    select.print = _print_select
    select.parse = classmethod(_parse_select)
    # These have no effect, and xDSL does not say so: nothing would remove, merge or hoist them.
    arith.ExtSIOp.traits.add_trait(Pure())
    arith.RemUIOp.traits.add_trait(NoMemoryEffect())


_mend()
