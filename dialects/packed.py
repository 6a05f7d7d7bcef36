"""Values of four bits, two in a byte, the low half first: what they are read as and made of.

i4 and u4 are integers. f4e2m1fn has a sign, two bits of exponent and one of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and
their negatives (OCP Microscaling Formats, "FP4"); it has no infinity and no NaN.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float16Type,
    Float32Type,
    Float64Type,
    StringAttr,
    i8,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

_FLOATS = (Float8E4M3FNType(), Float16Type(), BFloat16Type(), Float32Type())
# The types that hold all values of a format.
READ_AS: dict[str, tuple[Attribute, ...]] = {"i4": (i8, *_FLOATS), "u4": (i8, *_FLOATS), "f4e2m1fn": _FLOATS}
# The types that it is made of: integers by their low bits, floats by rounding to the nearest even.
MADE_OF: dict[str, tuple[Attribute, ...]] = {"i4": (i8,), "u4": (i8,), "f4e2m1fn": (*_FLOATS, Float64Type())}


def check_format(
    name: StringAttr, packed: Attribute, element: Attribute, table: dict[str, tuple[Attribute, ...]]
) -> None:
    """Element types on both sides of a packing or unpacking."""
    if name.data not in table:
        raise VerifyException(f"a packed format is one of {', '.join(table)}, not '{name.data}'")
    if packed != i8:
        raise VerifyException(f"packed values are bytes of i8, not {packed}")
    if element not in table[name.data]:
        listed = ", ".join(map(str, table[name.data]))
        raise VerifyException(f"{name.data} goes with elements of {listed}, not {element}")
