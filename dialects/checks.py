"""Checks that the verifiers of several dialects share. Each raises VerifyException, whatever IR it is given."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, BaseAttr, MessageConstraint
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.bounds import BoundsAttr
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.encodings import LayoutAttr, layout_of
from tileopt.dialects.layout import Layout
from tileopt.dialects.tile_types import BufferType, check_element, tile_shape

MAX_ELEMENTS = 1 << 20  # of one tile; CUDA Tile IR and Triton have the same limit


# Constraints on properties, by the property's name: xDSL's own messages do not say which one is wrong.


def integer(name: str) -> AttrConstraint[IntegerAttr]:
    return MessageConstraint(BaseAttr(IntegerAttr), f"{name} is an integer")


def string(name: str) -> AttrConstraint[StringAttr]:
    return MessageConstraint(BaseAttr(StringAttr), f"{name} is a string")


def indices(name: str) -> AttrConstraint[DenseArrayBase[IntegerType]]:
    return MessageConstraint(DenseArrayBase.constr(BaseAttr(IntegerType)), f"{name} is an array of integers")


def layout_attr(name: str) -> AttrConstraint[LayoutAttr]:
    return MessageConstraint(BaseAttr(LayoutAttr), f"{name} is a #tile.layout")


PADDING = MessageConstraint(BaseAttr(FloatAttr) | BaseAttr(IntegerAttr), "padding is a number")
BOUNDS = MessageConstraint(BaseAttr(BoundsAttr), "bounds is a #tile.bounds")
STREAMING, KEEP = "streaming", "keep"  # policies of caches: what is moved is used once, or will be used again


def is_power_of_two(n: int) -> bool:
    return n > 0 and not n & (n - 1)


def check_shape(shape: tuple[int, ...], what: str, shown: object) -> None:
    """Static positive extents, not more than MAX_ELEMENTS elements."""
    total = 1
    for extent in shape:
        if extent < 1:
            raise VerifyException(f"{what} needs static, positive extents, got {shown}")
        total *= extent
    if total > MAX_ELEMENTS:
        raise VerifyException(f"{what} has {total} elements, more than {MAX_ELEMENTS}")


def check_tile(type_: Attribute, what: str) -> None:
    """A tile of static positive extents, not larger than MAX_ELEMENTS, whose layout (if it has one) fits."""
    if not isinstance(type_, TensorType | BufferType):
        return
    check_element(type_.element_type)
    check_shape(tile_shape(type_), what, type_)
    if isinstance(type_, TensorType):
        if isinstance(type_.encoding, LayoutAttr):
            check_layout(type_.encoding, type_.get_shape(), what)
        elif not isinstance(type_.encoding, NoneAttr):
            raise VerifyException(f"{what} is encoded by {type_.encoding}; a tile's encoding is #tile.layout")


def layouts_of(source: Attribute, result: Attribute) -> tuple[Layout, Layout] | None:
    """The layouts of an op's source and result, None where none are assigned yet."""
    found = [t for t in (source, result) if isinstance(t, TensorType) and isinstance(t.encoding, LayoutAttr)]
    if len(found) == 1:
        raise VerifyException("of source and result, one has a layout")
    return (layout_of(source), layout_of(result)) if found else None


def check_same_layout(actual: Layout, wanted: Layout, what: str) -> None:
    """An op that moves no data between threads ties its operands' layouts together."""
    if actual != wanted:
        raise VerifyException(f"the {what}'s layout is {LayoutAttr.of(actual)}, it must be {LayoutAttr.of(wanted)}")


def check_layout(layout: LayoutAttr, shape: tuple[int, ...], what: str) -> None:
    """The layout can spread a tile of this shape, and a thread does not hold more than a whole tile may have."""
    try:
        over = layout.over(shape)
    except ValueError as error:
        raise VerifyException(f"{what}: {error}") from error
    if over.registers > MAX_ELEMENTS:
        raise VerifyException(f"{what}: the layout gives each thread {over.registers} registers")


def check_fragment(type_: Attribute, what: str) -> int:
    """A fragment is `vector<Nxt>` of a known element type. Gives N."""
    if not isinstance(type_, VectorType):
        raise VerifyException(f"{what} is {type_}, not a fragment")
    check_element(type_.element_type)
    shape = type_.get_shape()
    if len(shape) != 1 or any(type_.get_scalable_dims()) or not 1 <= shape[0] <= MAX_ELEMENTS:
        raise VerifyException(f"{what} is {type_}; a fragment is a vector of rank 1 with 1 to {MAX_ELEMENTS} registers")
    return shape[0]


def check_axis(axis: IntegerAttr, rank: int, of: object) -> None:
    if not 0 <= axis.value.data < rank:
        raise VerifyException(f"axis {axis.value.data} is not an axis of {of}")


def check_vector(vector: IntegerAttr | None) -> None:
    if vector is not None and not is_power_of_two(vector.value.data):
        raise VerifyException(f"vector counts elements by a power of two, not {vector.value.data}")


def check_cache(cache: StringAttr | None) -> None:
    if cache is not None and cache.data not in (STREAMING, KEEP):
        raise VerifyException(f"cache is {STREAMING} or {KEEP}, not {cache.data}")


def check_padding(padding: FloatAttr | IntegerAttr | None, element: Attribute) -> None:
    if padding is not None and padding.type != element:
        raise VerifyException(f"the padding is of {padding.type}, the elements are {element}")


def check_bounds(bounds: BoundsAttr | None, rank: int) -> None:
    if bounds is not None and any(axis >= rank for axis in bounds.axes):
        raise VerifyException(f"the bounds name axis {max(bounds.axes)} of an array of rank {rank}")


def check_product(a: Attribute, b: Attribute, acc: Attribute) -> None:
    """Element types of `acc + a @ b`: a and b alike, the accumulator of their kind and no narrower."""
    for element in (a, b, acc):
        check_element(element)
    if a != b:
        raise VerifyException(f"a is of {a}, b of {b}")
    if isinstance(a, IntegerType) != isinstance(acc, IntegerType):
        raise VerifyException(f"a product of {a} is not accumulated in {acc}")
    if bit_width(acc) < bit_width(a):
        raise VerifyException(f"the accumulator's {acc} is narrower than the operands' {a}")


def check_same_tile(source: Attribute, result: Attribute) -> None:
    """A tile and a buffer, or two of a kind, of one shape and element type."""
    check_tile(source, "the source")
    check_tile(result, "the result")
    if tile_shape(source) != tile_shape(result) or element_type_of(source) != element_type_of(result):
        raise VerifyException(f"{source} and {result} are not the same tile")


def element_type_of(type_: Attribute) -> Attribute:
    """Element type of a tensor or buffer."""
    return type_.element_type if isinstance(type_, BufferType) else element_type(type_)
