"""Operands in shared memory that matrix units read by descriptor (`wgmma`, `tcgen05.mma`): what layouts one can tell.

An operand has an axis along K and one along M or N. Rows along its fastest axis are as long as the swizzle, 32, 64 or
128 bytes, or cut into panels of so many. Raises VerifyException.
"""

from __future__ import annotations

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.tile_types import BufferType

UNIT = 16  # bytes that swizzles move together
SWIZZLES = (32, 64, 128)
K_BYTES = 32  # of one instruction's K
# Element types of operands, by the kind of product that they make. Integers are signless in the IR: a, b say which.
FLOATS, BYTES, INTEGERS = ("f16", "bf16", "tf32"), ("f8e4m3fn", "f8e5m2"), ("i8", "u8")
STORED = {"tf32": "f32", "u8": "i8", "f4e2m1fn": "i8"}


def stored(type_: str) -> str:
    """The name of the element type that holds operands of a type."""
    return STORED.get(type_, type_)


def depth(type_: str) -> int:
    """Elements along K of one instruction."""
    from tileopt.dialects.dtypes import DTYPES

    return K_BYTES * 8 // DTYPES[stored(type_)].bits


def check_operand(buffer: Attribute, type_: str, major: bool, what: str) -> tuple[int, int]:
    """(extent along M or N, extent along K). `major`: the operand lies M- or N-major, its axes are (K, M) or (K, N)."""
    from tileopt.dialects.dtypes import DTYPES

    assert isinstance(buffer, BufferType)
    if buffer.rank != 2 or buffer.element_type != DTYPES[stored(type_)].ir:
        raise VerifyException(f"{what} of {type_} is a matrix of {stored(type_)} in shared memory, not {buffer}")
    if major and bit_width(buffer.element_type) != 16:
        raise VerifyException(f"{what} lies K-major unless its elements have 16 bits")
    shared, width = buffer.shared_layout, bit_width(buffer.element_type) // 8
    row = (shared.panel if shared.panels > 1 else shared.shape[shared.order[-1]]) * width
    swizzled = row in SWIZZLES and 1 << shared.bits == row // UNIT and 1 << shared.base == UNIT // width
    if not swizzled or shared.shift != 3 or shared.pad or shared.order != (0, 1):
        raise VerifyException(f"no descriptor tells the layout of {buffer}: it needs rows of one swizzle's width")
    across, k = reversed(buffer.get_shape()) if major else buffer.get_shape()
    if k % depth(type_):
        raise VerifyException(f"{what} has K = {k}, no multiple of the {depth(type_)} of one instruction")
    if (across * width % row) if major else (across % 8):
        raise VerifyException(f"{what} has an extent of {across}, which cuts the layout's groups of rows")
    return across, k
