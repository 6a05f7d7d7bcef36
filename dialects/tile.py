"""The tile dialect: what a block does with whole tiles.

A tile is a builtin tensor of static shape; elementwise work is `arith` and `math` on tensors, control flow is `scf`.
Integers that index memory (block ids, extents, offsets) are i64.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    IntegerAttr,
    TensorType,
    UnitAttr,
    f32,
    i32,
    i64,
)
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
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
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasParent, IsTerminator, MemoryReadEffect, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects import arith as _mended  # noqa: F401  (comparisons of tiles)
from tileopt.dialects.bounds import BoundsAttr
from tileopt.dialects.checks import (
    BOUNDS,
    PADDING,
    check_axis,
    check_bounds,
    check_cache,
    check_padding,
    check_product,
    check_same_layout,
    check_same_tile,
    check_vector,
    indices,
    integer,
    layouts_of,
    string,
)
from tileopt.dialects.checks import MAX_ELEMENTS as MAX_ELEMENTS
from tileopt.dialects.checks import check_tile as check_tile
from tileopt.dialects.checks import element_type_of as element_type_of
from tileopt.dialects.constants import Constants
from tileopt.dialects.contracts import ContractAttr
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.effects import ReadsView, UpdatesElement, WritesView
from tileopt.dialects.encodings import LayoutAttr, SharedAttr
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.layout import Layout
from tileopt.dialects.queries import GridQuery
from tileopt.dialects.reductions import FLOAT_KINDS as FLOAT_KINDS
from tileopt.dialects.reductions import ReduceKind as ReduceKind
from tileopt.dialects.reductions import check_kind as check_kind
from tileopt.dialects.simt_atomic import check_tile_atomic
from tileopt.dialects.tile_map import MapOps
from tileopt.dialects.tile_map import MapSimt as MapSimt
from tileopt.dialects.tile_map import MapYield as MapYield
from tileopt.dialects.tile_packed import Pack as Pack
from tileopt.dialects.tile_packed import PackedOps
from tileopt.dialects.tile_packed import Repeat as Repeat
from tileopt.dialects.tile_packed import Unpack as Unpack
from tileopt.dialects.tile_scaled import MmaScaled as MmaScaled
from tileopt.dialects.tile_scaled import check_scaled_product
from tileopt.dialects.tile_shared import LoadBuffer as LoadBuffer
from tileopt.dialects.tile_shared import SharedOps
from tileopt.dialects.tile_shared import StoreBuffer as StoreBuffer
from tileopt.dialects.tile_types import DYNAMIC, BufferType, ViewType, tile_shape

I64 = eq(i64)
TILE = BaseAttr(TensorType) | BaseAttr(BufferType)


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


@irdl_op_definition
class Bid(GridQuery):
    """The block's id along a grid axis, from 0."""

    name = "tile.bid"


@irdl_op_definition
class NumBlocks(GridQuery):
    """The grid's extent along an axis."""

    name = "tile.num_blocks"


@irdl_op_definition
class Dim(IRDLOperation, HasFolderInterface):
    """The run-time extent of an array along an axis."""

    name = "tile.dim"
    view = operand_def(ViewType)
    axis = prop_def(integer("axis"))
    result = result_def(I64)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$view attr-dict `:` type($view)"

    def verify_(self) -> None:
        check_axis(self.axis, view_type(self.view).rank, self.view.type)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        extent = view_type(self.view).get_shape()[self.axis.value.data]
        return None if extent == DYNAMIC else (IntegerAttr(extent, i64),)


def view_type(value: SSAValue) -> ViewType:
    """The type of a value known to be a view."""
    assert isinstance(value.type, ViewType)
    return value.type


def _verify_access(
    view: SSAValue, offsets: int, tile: Attribute, bounds: BoundsAttr | None, vector: IntegerAttr | None
) -> None:
    type_ = view_type(view)
    check_tile(tile, "the tile")
    if offsets != type_.rank:
        raise VerifyException(f"{offsets} offsets for an array of rank {type_.rank}")
    if len(tile_shape(tile)) != type_.rank:
        raise VerifyException(f"a tile of rank {len(tile_shape(tile))} from an array of rank {type_.rank}")
    if element_type(tile) != type_.element_type:
        raise VerifyException(f"a tile of {element_type(tile)} from an array of {type_.element_type}")
    check_bounds(bounds, type_.rank)
    check_vector(vector)


@irdl_op_definition
class Load(IRDLOperation):
    """Reads the tile that begins at the element offsets; elements outside the array read as `padding` (default 0).

    `vector`: elements along the array's unit axis that are provably aligned together and inside or outside together.
    `phased`: they are aligned together only if the tile's first element is, and may be inside and outside in part: both
    are found out as it runs. `cache`: "streaming" where nothing reads it again, "keep" where something will.
    `unchecked`: the author answers for what other blocks write there.
    """

    name = "tile.load"
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    padding = opt_prop_def(PADDING)
    bounds = opt_prop_def(BOUNDS)
    vector = opt_prop_def(integer("vector"))
    phased = opt_prop_def(UnitAttr)
    cache = opt_prop_def(string("cache"))
    unchecked = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    traits = traits_def(ReadsView())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$view `[` $offsets `]` attr-dict `:` type($view) `->` type($result)"

    def verify_(self) -> None:
        _verify_access(self.view, len(self.offsets), self.result.type, self.bounds, self.vector)
        check_cache(self.cache)
        check_padding(self.padding, view_type(self.view).element_type)


@irdl_op_definition
class Store(IRDLOperation):
    """Writes the tile at the element offsets; elements outside the array are not written. `bulk`: the copy engine does
    it, by way of shared memory. `phased`, `cache`: as of a load. `unchecked`: the author answers for no other block
    touching the elements."""

    name = "tile.store"
    value = operand_def(TensorType)
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    bounds = opt_prop_def(BOUNDS)
    vector = opt_prop_def(integer("vector"))
    phased = opt_prop_def(UnitAttr)
    cache = opt_prop_def(string("cache"))
    bulk = opt_prop_def(UnitAttr)
    unchecked = opt_prop_def(UnitAttr)
    traits = traits_def(WritesView())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value `,` $view `[` $offsets `]` attr-dict `:` type($value) `,` type($view)"

    def verify_(self) -> None:
        _verify_access(self.view, len(self.offsets), self.value.type, self.bounds, self.vector)
        check_cache(self.cache)
        if not view_type(self.view).owned:
            raise VerifyException("a store needs an owned view")


@irdl_op_definition
class AtomicRmw(IRDLOperation):
    """Combines the elements at the offsets with those of a tile, each by one atomic operation, in any order; elements
    outside the array are not touched."""

    name = "tile.atomic_rmw"
    value = operand_def(TensorType)
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    kind = prop_def(string("kind"))
    bounds = opt_prop_def(BOUNDS)
    vector = opt_prop_def(integer("vector"))
    traits = traits_def(UpdatesElement())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value `,` $view `[` $offsets `]` attr-dict `:` type($value) `,` type($view)"

    def verify_(self) -> None:
        _verify_access(self.view, len(self.offsets), self.value.type, self.bounds, self.vector)
        check_tile_atomic(self.kind, self.view.type)


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
        if len(tile_shape(self.result.type)) != 1 or element_type(self.result.type) not in (i32, i64):
            raise VerifyException("arange gives a tile of rank 1 of i32 or i64")


class _Reshaping(IRDLOperation, HasFolderInterface, HasCanonicalizationPatternsInterface):
    source = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from tileopt.dialects.tile_canonical import patterns_of

        return patterns_of(cls)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.source,) if self.source.type == self.result.type else None

    def verify_(self) -> None:
        check_tile(self.source.type, "the source")
        check_tile(self.result.type, "the result")
        if element_type(self.result.type) != element_type(self.source.type):
            raise VerifyException("source and result differ in element type")
        self.verify_shape(tile_shape(self.source.type), tile_shape(self.result.type))
        layouts = layouts_of(self.source.type, self.result.type)
        if layouts is not None:
            self.verify_layouts(*layouts)

    def verify_shape(self, source: tuple[int, ...], result: tuple[int, ...]) -> None:
        raise NotImplementedError

    def verify_layouts(self, source: Layout, result: Layout) -> None:
        """Where the op moves no data between threads, how the layouts depend on one another."""


@irdl_op_definition
class Broadcast(_Reshaping):
    """Repeats the tile along the axes where its extent is 1; the rank stays."""

    name = "tile.broadcast"
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_shape(self, source: tuple[int, ...], result: tuple[int, ...]) -> None:
        if len(source) != len(result) or any(s not in (1, r) for s, r in zip(source, result, strict=True)):
            raise VerifyException(f"{list(source)} cannot be broadcast to {list(result)}")

    def verify_layouts(self, source: Layout, result: Layout) -> None:
        wanted = result
        for axis, (narrow, wide) in enumerate(zip(source.shape, result.shape, strict=True)):
            if narrow != wide:
                wanted = wanted.collapse_axis(axis)
        check_same_layout(source, wanted, "source")


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
    permutation = prop_def(indices("permutation"))
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_shape(self, source: tuple[int, ...], result: tuple[int, ...]) -> None:
        order = self.permutation.get_values()
        if sorted(order) != list(range(len(source))):
            raise VerifyException(f"{list(order)} is not a permutation of the axes")
        if result != tuple(source[a] for a in order):
            raise VerifyException(f"the permutation {list(order)} of {list(source)} is not {list(result)}")

    def verify_layouts(self, source: Layout, result: Layout) -> None:
        check_same_layout(result, source.permute(self.permutation.get_values()), "result")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        order = self.permutation.get_values()
        return super().fold() if order == tuple(range(len(order))) else None


@irdl_op_definition
class Reduce(IRDLOperation):
    """Combines the elements along one axis, which goes. See `ReduceKind`."""

    name = "tile.reduce"
    source = operand_def(TensorType)
    kind = prop_def(string("kind"))
    axis = prop_def(integer("axis"))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        check_tile(self.source.type, "the source")
        shape, axis = tile_shape(self.source.type), self.axis.value.data
        check_kind(self.kind, element_type(self.source.type))
        check_axis(self.axis, len(shape), self.source.type)
        check_tile(self.result.type, "the result")
        if tile_shape(self.result.type) != shape[:axis] + shape[axis + 1 :]:
            raise VerifyException(f"the result's shape is not that of the source without axis {axis}")
        if element_type(self.source.type) != element_type(self.result.type):
            raise VerifyException("source and result differ in element type")
        layouts = layouts_of(self.source.type, self.result.type)
        if layouts is not None:
            check_same_layout(layouts[1], layouts[0].drop_axis(axis), "result")


@irdl_op_definition
class Mma(IRDLOperation):
    """`acc + a @ b`, products and sums in the accumulator's type. a is MxK, b is KxN, acc is MxN.

    a and b are tiles in registers or, where the atom demands it, buffers in shared memory. `atom` names the
    instruction once `map-tensor-cores` chose one. `precision`: products of f32 may take operands with the 10 bits of
    mantissa of "tf32". `unsigned`: integers of a and b have no sign. `scales`, `a_format`, `b_format`: as `mma_scaled`
    has them, of operands as an instruction takes them: f4e2m1fn in bytes of two values along K.
    """

    name = "tile.mma"
    a = operand_def(TILE)
    b = operand_def(TILE)
    acc = operand_def(TensorType)
    atom = opt_prop_def(string("atom"))
    precision = opt_prop_def(string("precision"))
    unsigned = opt_prop_def(UnitAttr)
    scales = var_operand_def(TensorType)
    a_format = opt_prop_def(string("a_format"))
    b_format = opt_prop_def(string("b_format"))
    result = result_def(TensorType)
    traits = traits_def(NoMemoryEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$a `,` $b `,` $acc (`scaled` $scales^)? attr-dict `:` type($a) `,` type($b) `,` type($acc) "
        "(`scaled` type($scales)^)? `->` type($result)"
    )

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
        if self.scales:
            formats = self.a_format, self.b_format
            check_scaled_product(formats, self.a.type, self.b.type, [v.type for v in self.scales])
            return
        check_product(element_type_of(self.a.type), element_type_of(self.b.type), element_type(self.acc.type))
        if self.precision is not None and (self.precision.data != "tf32" or element_type_of(self.a.type) != f32):
            raise VerifyException(f"no product of {element_type_of(self.a.type)} has the precision {self.precision}")


@irdl_op_definition
class Stage(IRDLOperation):
    """Puts a tile into shared memory, where nothing changes it: the buffer is a value like any other."""

    name = "tile.stage"
    source = operand_def(TensorType)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        check_same_tile(self.source.type, self.result.type)


@irdl_op_definition
class Unstage(IRDLOperation, HasFolderInterface):
    """Takes a tile from shared memory into registers. Its place counts: a channel's slot is refilled once released."""

    name = "tile.unstage"
    source = operand_def(BufferType)
    result = result_def(TensorType)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        check_same_tile(self.source.type, self.result.type)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        stage = self.source.owner
        return (stage.source,) if isinstance(stage, Stage) and stage.source.type == self.result.type else None


@irdl_op_definition
class TransposeBuffer(IRDLOperation, HasFolderInterface):
    """The same buffer with its axes permuted: no data moves."""

    name = "tile.transpose_buffer"
    source = operand_def(BufferType)
    permutation = prop_def(indices("permutation"))
    result = result_def(BufferType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        source, result, order = self.source.type, self.result.type, self.permutation.get_values()
        assert isinstance(source, BufferType) and isinstance(result, BufferType)
        check_tile(source, "the source")
        if sorted(order) != list(range(source.rank)):
            raise VerifyException(f"{list(order)} is not a permutation of the axes")
        laid_out = isinstance(source.layout, SharedAttr)
        permuted = source.shared_layout.permute(order)
        expected = BufferType.of(permuted.shape, source.element_type, permuted if laid_out else None)
        if result != expected:
            raise VerifyException(f"the permutation {list(order)} of {source} is {expected}, not {result}")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        order = self.permutation.get_values()
        return (self.source,) if order == tuple(range(len(order))) else None


@irdl_op_definition
class ReshapeBuffer(IRDLOperation, HasFolderInterface):
    """The same buffer with axes of extent 1 added or removed: no data moves."""

    name = "tile.reshape_buffer"
    source = operand_def(BufferType)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, BufferType) and isinstance(result, BufferType)
        check_tile(source, "the source")
        if [n for n in source.get_shape() if n != 1] != [n for n in result.get_shape() if n != 1]:
            raise VerifyException(f"{source} and {result} differ in more than axes of extent 1")
        if source.element_type != result.element_type:
            raise VerifyException("source and result differ in element type")
        if isinstance(source.layout, SharedAttr) != isinstance(result.layout, SharedAttr):
            raise VerifyException("of source and result, one has a layout")
        if source.shared_layout.placement != result.shared_layout.placement:
            raise VerifyException(f"{source} and {result} place their elements differently")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.source,) if self.source.type == self.result.type else None


@irdl_op_definition
class ConvertLayout(_Reshaping):
    """The same tile in another layout: data moves between threads."""

    name = "tile.convert_layout"
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_shape(self, source: tuple[int, ...], result: tuple[int, ...]) -> None:
        if source != result:
            raise VerifyException(f"{self.source.type} and {self.result.type} are not the same tile")


TileOps: list[type[Operation]] = [
    Kernel, Return, Bid, NumBlocks, Dim, Load, Store, AtomicRmw, Splat, ToScalar, Arange, Broadcast, Reshape, Transpose,
    Reduce, Mma, Stage, Unstage, TransposeBuffer, ReshapeBuffer, ConvertLayout, *MapOps,
    *SharedOps, *PackedOps, MmaScaled,
]  # fmt: skip

Tile = Dialect(
    "tile",
    TileOps,
    [ViewType, BufferType, LayoutAttr, SharedAttr, BoundsAttr, ContractAttr],
    [Constants()],
)
