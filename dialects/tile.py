"""The tile dialect: what a block does with whole tiles.

A tile is a builtin tensor of static shape; elementwise work is `arith` and `math` on tensors, control flow is `scf`.
Integers that index memory (block ids, extents, offsets) are i64.
"""

from __future__ import annotations

from enum import StrEnum

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import (
    HasParent,
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoMemoryEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.bounds import BoundsAttr
from tileopt.dialects.contracts import ContractAttr
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.encodings import LayoutAttr, SharedAttr
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.tile_types import BufferType, ViewType, tile_shape

I64 = eq(i64)
TILE = BaseAttr(TensorType) | BaseAttr(BufferType)
MAX_ELEMENTS = 1 << 20  # of one tile; CUDA Tile IR and Triton have the same limit


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


def check_tile(type_: Attribute, what: str) -> None:
    """Verifies that a tile has static positive extents and is not larger than MAX_ELEMENTS."""
    if not isinstance(type_, TensorType | BufferType):
        return
    total = 1
    for extent in tile_shape(type_):
        if extent < 1:
            raise VerifyException(f"{what} needs static, positive extents, got {type_}")
        total *= extent
    if total > MAX_ELEMENTS:
        raise VerifyException(f"{what} has {total} elements, more than {MAX_ELEMENTS}")
    if isinstance(type_, TensorType) and isinstance(type_.encoding, LayoutAttr):
        try:
            type_.encoding.over(type_.get_shape())
        except ValueError as error:
            raise VerifyException(f"{what}: {error}") from error


@irdl_op_definition
class Kernel(KernelOp):
    """A kernel of the tile track; it runs once for each block of the grid."""

    name = "tile.kernel"


@irdl_op_definition
class Return(IRDLOperation):
    """Ends the kernel; stands last in its body."""

    name = "tile.return"
    traits = traits_def(IsTerminator(), HasParent(Kernel))
    assembly_format = "attr-dict"


class _AxisQuery(IRDLOperation):
    axis = prop_def(IntegerAttr)
    result = result_def(I64)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if not 0 <= self.axis.value.data <= 2:
            raise VerifyException("a grid has the axes 0, 1 and 2")


@irdl_op_definition
class Bid(_AxisQuery):
    """The block's id along a grid axis, from 0."""

    name = "tile.bid"


@irdl_op_definition
class NumBlocks(_AxisQuery):
    """The grid's extent along an axis."""

    name = "tile.num_blocks"


@irdl_op_definition
class Dim(IRDLOperation):
    """The run-time extent of an array along an axis."""

    name = "tile.dim"
    view = operand_def(ViewType)
    axis = prop_def(IntegerAttr)
    result = result_def(I64)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$view attr-dict `:` type($view)"

    def verify_(self) -> None:
        if not 0 <= self.axis.value.data < view_type(self.view).rank:
            raise VerifyException(f"axis {self.axis.value.data} is not an axis of {self.view.type}")


def view_type(value: SSAValue) -> ViewType:
    """The type of a value known to be a view."""
    assert isinstance(value.type, ViewType)
    return value.type


def _verify_access(view: SSAValue, offsets: int, tile: Attribute, bounds: BoundsAttr | None) -> None:
    type_ = view_type(view)
    check_tile(tile, "the tile")
    if offsets != type_.rank:
        raise VerifyException(f"{offsets} offsets for an array of rank {type_.rank}")
    if len(tile_shape(tile)) != type_.rank:
        raise VerifyException(f"a tile of rank {len(tile_shape(tile))} from an array of rank {type_.rank}")
    if element_type(tile) != type_.element_type:
        raise VerifyException(f"a tile of {element_type(tile)} from an array of {type_.element_type}")
    if bounds is not None and any(axis >= type_.rank for axis in bounds.axes):
        raise VerifyException("the bounds name an axis that the array lacks")


@irdl_op_definition
class Load(IRDLOperation):
    """Reads the tile that begins at the element offsets; elements outside the array read as `padding` (default 0).

    `vector`: elements along the array's unit axis that are provably aligned together and inside or outside together.
    """

    name = "tile.load"
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    padding = opt_prop_def(BaseAttr(FloatAttr) | BaseAttr(IntegerAttr))
    bounds = opt_prop_def(BoundsAttr)
    vector = opt_prop_def(IntegerAttr)
    result = result_def(TensorType)
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$view `[` $offsets `]` attr-dict `:` type($view) `->` type($result)"

    def verify_(self) -> None:
        _verify_access(self.view, len(self.offsets), self.result.type, self.bounds)
        if self.padding is not None and self.padding.type != view_type(self.view).element_type:
            raise VerifyException("the padding's type differs from the element type")


@irdl_op_definition
class Store(IRDLOperation):
    """Writes the tile at the element offsets; elements outside the array are not written."""

    name = "tile.store"
    value = operand_def(TensorType)
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    bounds = opt_prop_def(BoundsAttr)
    vector = opt_prop_def(IntegerAttr)
    traits = traits_def(MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value `,` $view `[` $offsets `]` attr-dict `:` type($value) `,` type($view)"

    def verify_(self) -> None:
        _verify_access(self.view, len(self.offsets), self.value.type, self.bounds)
        if not view_type(self.view).owned:
            raise VerifyException("a store needs an owned view")


@irdl_op_definition
class Splat(IRDLOperation):
    """A tile with one scalar in every element."""

    name = "tile.splat"
    value = operand_def()
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def verify_(self) -> None:
        check_tile(self.result.type, "the result")
        if element_type(self.result.type) != self.value.type:
            raise VerifyException(f"a splat of {self.value.type} cannot give {self.result.type}")


@irdl_op_definition
class ToScalar(IRDLOperation):
    """The only element of a tile whose extents are all 1, as a scalar."""

    name = "tile.to_scalar"
    source = operand_def(TensorType)
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        check_tile(self.source.type, "the source")
        if any(n != 1 for n in tile_shape(self.source.type)):
            raise VerifyException(f"{self.source.type} has more than one element")
        if element_type(self.source.type) != self.result.type:
            raise VerifyException(f"an element of {self.source.type} is not {self.result.type}")


@irdl_op_definition
class Arange(IRDLOperation):
    """The tile 0, 1, ... n-1 of integers."""

    name = "tile.arange"
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def verify_(self) -> None:
        check_tile(self.result.type, "the result")
        if len(tile_shape(self.result.type)) != 1 or element_type(self.result.type) not in _INTEGERS:
            raise VerifyException("arange gives a tile of rank 1 of i32 or i64")


class _Reshaping(IRDLOperation):
    source = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    def verify_(self) -> None:
        check_tile(self.result.type, "the result")
        if element_type(self.result.type) != element_type(self.source.type):
            raise VerifyException("source and result differ in element type")
        self.verify_shape(tile_shape(self.source.type), tile_shape(self.result.type))

    def verify_shape(self, source: tuple[int, ...], result: tuple[int, ...]) -> None:
        raise NotImplementedError


@irdl_op_definition
class Broadcast(_Reshaping):
    """Repeats the tile along the axes where its extent is 1; the rank stays."""

    name = "tile.broadcast"
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_shape(self, source: tuple[int, ...], result: tuple[int, ...]) -> None:
        if len(source) != len(result) or any(s not in (1, r) for s, r in zip(source, result, strict=True)):
            raise VerifyException(f"{list(source)} cannot be broadcast to {list(result)}")


@irdl_op_definition
class Reshape(_Reshaping):
    """The same elements in row-major order under other extents."""

    name = "tile.reshape"
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_shape(self, source: tuple[int, ...], result: tuple[int, ...]) -> None:
        a = b = 1
        for n in source:
            a *= n
        for n in result:
            b *= n
        if a != b:
            raise VerifyException(f"{list(source)} has {a} elements, {list(result)} has {b}")


@irdl_op_definition
class Transpose(_Reshaping):
    """Axis `i` of the result is axis `permutation[i]` of the source."""

    name = "tile.transpose"
    permutation = prop_def(DenseArrayBase)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_shape(self, source: tuple[int, ...], result: tuple[int, ...]) -> None:
        order = self.permutation.get_values()
        if sorted(order) != list(range(len(source))):
            raise VerifyException(f"{list(order)} is not a permutation of the axes")
        if result != tuple(source[int(a)] for a in order):
            raise VerifyException(f"the permutation {list(order)} of {list(source)} is not {list(result)}")


@irdl_op_definition
class Reduce(IRDLOperation):
    """Combines the elements along one axis, which goes. See `ReduceKind`."""

    name = "tile.reduce"
    source = operand_def(TensorType)
    kind = prop_def(StringAttr)
    axis = prop_def(IntegerAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        check_tile(self.source.type, "the source")
        shape, axis = tile_shape(self.source.type), self.axis.value.data
        if self.kind.data not in tuple(ReduceKind):
            raise VerifyException(f"a reduction is one of {', '.join(ReduceKind)}, not '{self.kind.data}'")
        if not 0 <= axis < len(shape):
            raise VerifyException(f"axis {axis} is not an axis of {self.source.type}")
        if tile_shape(self.result.type) != shape[:axis] + shape[axis + 1 :]:
            raise VerifyException(f"the result's shape is not that of the source without axis {axis}")
        if element_type(self.source.type) != element_type(self.result.type):
            raise VerifyException("source and result differ in element type")


@irdl_op_definition
class Mma(IRDLOperation):
    """`acc + a @ b`, products and sums in the accumulator's type. a is MxK, b is KxN, acc is MxN.

    a and b are tiles in registers or, where the atom demands it, buffers in shared memory. `atom` names the
    instruction once `map-tensor-cores` chose one.
    """

    name = "tile.mma"
    a = operand_def(TILE)
    b = operand_def(TILE)
    acc = operand_def(TensorType)
    atom = opt_prop_def(StringAttr)
    result = result_def(TensorType)
    traits = traits_def(NoMemoryEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `,` type($acc) `->` type($result)"

    def verify_(self) -> None:
        a, b, acc = (
            tile_shape(self.a.type),
            tile_shape(self.b.type),
            tile_shape(self.acc.type),
        )
        for type_, what in (
            (self.a.type, "a"),
            (self.b.type, "b"),
            (self.acc.type, "acc"),
        ):
            check_tile(type_, what)
        if len(a) != 2 or len(b) != 2 or len(acc) != 2:
            raise VerifyException("the operands of a product have rank 2")
        if a[1] != b[0]:
            raise VerifyException(f"a is {a[0]}x{a[1]} and b is {b[0]}x{b[1]}: the inner extents differ")
        if acc != (a[0], b[1]):
            raise VerifyException(f"the product is {a[0]}x{b[1]}, the accumulator {acc[0]}x{acc[1]}")
        if self.acc.type != self.result.type:
            raise VerifyException("accumulator and result differ in type")
        if element_type_of(self.a.type) != element_type_of(self.b.type):
            raise VerifyException(f"a is of {element_type_of(self.a.type)}, b of {element_type_of(self.b.type)}")


@irdl_op_definition
class Stage(IRDLOperation):
    """Puts a tile into shared memory."""

    name = "tile.stage"
    source = operand_def(TensorType)
    result = result_def(BufferType)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        _verify_same(self.source.type, self.result.type)


@irdl_op_definition
class Unstage(IRDLOperation):
    """Takes a tile from shared memory into registers."""

    name = "tile.unstage"
    source = operand_def(BufferType)
    result = result_def(TensorType)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        _verify_same(self.source.type, self.result.type)


@irdl_op_definition
class TransposeBuffer(IRDLOperation):
    """The same buffer with its axes permuted: no data moves."""

    name = "tile.transpose_buffer"
    source = operand_def(BufferType)
    permutation = prop_def(DenseArrayBase)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        source, order = tile_shape(self.source.type), self.permutation.get_values()
        if sorted(order) != list(range(len(source))):
            raise VerifyException(f"{list(order)} is not a permutation of the axes")
        if tile_shape(self.result.type) != tuple(source[int(a)] for a in order):
            raise VerifyException("the result's extents are not the permuted ones of the source")


@irdl_op_definition
class ReshapeBuffer(IRDLOperation):
    """The same buffer with axes of extent 1 added or removed: no data moves."""

    name = "tile.reshape_buffer"
    source = operand_def(BufferType)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        source, result = tile_shape(self.source.type), tile_shape(self.result.type)
        if [n for n in source if n != 1] != [n for n in result if n != 1]:
            raise VerifyException(f"{list(source)} and {list(result)} differ in more than axes of extent 1")
        if element_type_of(self.source.type) != element_type_of(self.result.type):
            raise VerifyException("source and result differ in element type")


@irdl_op_definition
class ConvertLayout(IRDLOperation):
    """The same tile in another layout: data moves between threads."""

    name = "tile.convert_layout"
    source = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        _verify_same(self.source.type, self.result.type)


def _verify_same(source: Attribute, result: Attribute) -> None:
    check_tile(source, "the source")
    check_tile(result, "the result")
    if tile_shape(source) != tile_shape(result) or element_type_of(source) != element_type_of(result):
        raise VerifyException(f"{source} and {result} are not the same tile")


def element_type_of(type_: Attribute) -> Attribute:
    """Element type of a tensor or buffer."""
    return type_.element_type if isinstance(type_, BufferType) else element_type(type_)


_INTEGERS = (i64, IntegerAttr(0, 32).type)

TileOps: list[type[Operation]] = [
    Kernel, Return, Bid, NumBlocks, Dim, Load, Store, Splat, ToScalar, Arange, Broadcast, Reshape, Transpose, Reduce, Mma,
    Stage, Unstage, TransposeBuffer, ReshapeBuffer, ConvertLayout,
]  # fmt: skip

Tile = Dialect(
    "tile",
    TileOps,
    [ViewType, BufferType, LayoutAttr, SharedAttr, BoundsAttr, ContractAttr],
)
