"""How values are combined, in a tile, a fragment or a warp."""

from __future__ import annotations

from enum import StrEnum

from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException


class ReduceKind(StrEnum):
    """How `tile.reduce` combines. max and min give NaN if an element is NaN; unsigned integers have u-forms."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    UMAX = "umax"
    UMIN = "umin"
    AND = "and"
    OR = "or"
    XOR = "xor"


FLOAT_KINDS = frozenset((ReduceKind.SUM, ReduceKind.PROD, ReduceKind.MAX, ReduceKind.MIN))


def check_kind(kind: StringAttr, element: Attribute) -> None:
    """The kind of reduction exists, and for elements of this type."""
    if kind.data not in tuple(ReduceKind):
        raise VerifyException(f"a reduction is one of {', '.join(ReduceKind)}, not '{kind.data}'")
    if kind.data not in FLOAT_KINDS and not isinstance(element, IntegerType):
        raise VerifyException(f"{kind.data} reduces integers, not {element}")
