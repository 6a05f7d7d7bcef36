"""`tile.map_simt`: what a thread does with each element of its fragments, as a region on scalars.

Without `axis` the region says what becomes of one element, and nothing of other threads. With it, warps lie along that
axis: the element at index i of the axis is in lane i mod 32, and the 32 lanes run the region together, so that shuffles
and votes have one meaning on every target. Lanes past the end of the axis take part, on `padding`.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    IRDLOperation,
    MessageConstraint,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects import simt_constant, simt_host, simt_thread, simt_warp
from tileopt.dialects.checks import check_axis, check_padding, check_same_layout, check_tile, integer
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.encodings import LayoutAttr, layout_of
from tileopt.dialects.layout import LANE_BITS, Layout
from tileopt.dialects.tile_types import Access, ViewType, check_element, tile_shape

# What lanes of a warp do together, and what tells a lane from the others.
LANE_OPS = (
    simt_warp.Shuffle, simt_warp.Vote, simt_warp.Match, simt_warp.WarpReduce, simt_warp.Elect, simt_warp.ActiveMask,
    simt_warp.LaneMask,
)  # fmt: skip
LANE_NAMES = frozenset(op.name for op in LANE_OPS) | {"simt.thread_id"}
_OTHERS = frozenset((
    "simt.block_id", "simt.grid_dim", "simt.dim", simt_thread.CheckIndex.name, simt_host.Assert.name,
    simt_constant.Constant.name,
))  # fmt: skip
_DIALECTS = (arith.Arith.name, math.Math.name, scf.Scf.name)
PADDINGS = MessageConstraint(BaseAttr(ArrayAttr), "padding is an array of numbers")


@irdl_op_definition
class MapSimt(IRDLOperation):
    """Runs its region for each element of the tiles, which are its arguments; it yields the results' elements."""

    name = "tile.map_simt"
    tiles = var_operand_def(TensorType)
    axis = opt_prop_def(integer("axis"))
    padding = opt_prop_def(PADDINGS)
    body = region_def("single_block")
    outs = var_result_def(TensorType)
    traits = traits_def(RecursiveMemoryEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$tiles attr-dict `:` type($tiles) `->` type($outs) $body"

    def verify_(self) -> None:
        if not self.tiles or not self.outs:
            raise VerifyException("a map takes and gives at least one tile")
        types = [*self.tiles.types, *self.outs.types]
        for type_ in types:
            check_tile(type_, "the tile")
            if tile_shape(type_) != tile_shape(types[0]):
                raise VerifyException(f"the tiles of a map have one shape, not {types[0]} and {type_}")
        if tuple(a.type for a in self.body.block.args) != tuple(map(element_type, self.tiles.types)):
            raise VerifyException("the region's arguments are not the elements of the tiles")
        last = self.body.block.last_op
        if not isinstance(last, MapYield) or tuple(last.values.types) != tuple(map(element_type, self.outs.types)):
            raise VerifyException("the region does not yield the elements of the results")
        if self.axis is not None:
            check_axis(self.axis, len(tile_shape(types[0])), types[0])
        self._verify_padding()
        for op in self.body.walk():
            self._verify_inner(op)
        self._verify_layouts(types)

    def _verify_padding(self) -> None:
        if self.padding is None:
            return
        if self.axis is None or len(self.padding) != len(self.tiles):
            raise VerifyException("padding needs an axis, and has a number for each tile")
        for number, type_ in zip(self.padding.data, self.tiles.types, strict=True):
            if not isinstance(number, FloatAttr | IntegerAttr):
                raise VerifyException(f"the padding {number} is not a number")
            check_padding(number, element_type(type_))

    def _verify_inner(self, op: Operation) -> None:
        if op.name in LANE_NAMES:
            if self.axis is None:
                raise VerifyException(f"'{op.name}' in a map needs the axis along which the lanes lie")
        elif isinstance(op, simt_thread.ElementLoad):
            if not isinstance(op.mem.type, ViewType) or op.mem.type.access.data != Access.SHARED:
                raise VerifyException(f"a map reads arrays that nobody writes, not {op.mem.type}")
        elif op.name.partition(".")[0] not in _DIALECTS and op.name not in _OTHERS and not isinstance(op, MapYield):
            raise VerifyException(f"'{op.name}' cannot stand in a map")
        if any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results)):
            raise VerifyException(f"'{op.name}' in a map works on a tile: its elements are the region's arguments")

    def _verify_layouts(self, types: list[Attribute]) -> None:
        laid = [t for t in types if isinstance(t, TensorType) and isinstance(t.encoding, LayoutAttr)]
        if not laid:
            return
        if len(laid) != len(types):
            raise VerifyException("some tiles of a map have a layout, and some have none")
        first = layout_of(types[0])
        for type_ in types[1:]:
            check_same_layout(layout_of(type_), first, "tile")
        if self.axis is not None and not lies_along(first, self.axis.value.data):
            raise VerifyException(f"the lanes do not lie along axis {self.axis.value.data}")


@irdl_op_definition
class MapYield(IRDLOperation):
    """Ends the region of `tile.map_simt` with the results' elements."""

    name = "tile.map_yield"
    values = var_operand_def(AnyAttr())
    traits = traits_def(IsTerminator(), HasParent(MapSimt), Pure())
    assembly_format = "$values attr-dict `:` type($values)"

    def verify_(self) -> None:
        for type_ in self.values.types:
            check_element(type_)


def lies_along(layout: Layout, axis: int) -> bool:
    """Whether lane l holds indices l mod 32 of `axis`."""
    return tuple(basis[axis] for basis in layout.lanes) == tuple(1 << bit for bit in range(LANE_BITS))


def along(shape: tuple[int, ...], axis: int, num_warps: int) -> Layout:
    """The layout whose lanes lie along `axis`: warps share the other axes, and then the rest of this one, first where
    they divide evenly. If then some are left, they hold the same elements again."""
    rank = len(shape)
    base = [1] * rank

    def basis(at: int) -> tuple[int, ...]:
        made = tuple(base[at] if a == at else 0 for a in range(rank))
        base[at] *= 2
        return made

    lanes = tuple(basis(axis) for _ in range(LANE_BITS))
    need = num_warps.bit_length() - 1
    warps: list[tuple[int, ...]] = []
    for exact in (True, False):
        for at in (*(a for a in range(rank) if a != axis), axis):
            while len(warps) < need and (shape[at] % (base[at] * 2) == 0 if exact else base[at] < shape[at]):
                warps.append(basis(at))
    warps += [(0,) * rank] * (need - len(warps))
    return Layout(shape, (), lanes, tuple(warps))


def lane_ops(map_: MapSimt) -> Iterator[Operation]:
    """The ops of a map that all lanes of a warp must reach together."""
    return (op for op in map_.body.walk() if isinstance(op, LANE_OPS))


MapOps: list[type[Operation]] = [MapSimt, MapYield]
