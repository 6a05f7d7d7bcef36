"""The simt dialect's ops on fragments: what each thread holds of a tile, loads, stores, combines and hands to others.

A fragment is `vector<Nxt>`, N registers of each thread, spread as the layout attribute says (see `simt`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerType,
    UnitAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
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
from xdsl.traits import MemoryReadEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import (
    BOUNDS,
    PADDING,
    check_axis,
    check_bounds,
    check_cache,
    check_fragment,
    check_layout,
    check_padding,
    check_shape,
    check_vector,
    indices,
    integer,
    layout_attr,
    string,
)
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.effects import ReadsView, UpdatesElement, WritesView
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.kernel import SCALAR_TYPES
from tileopt.dialects.layout import WARP_SIZE, Layout
from tileopt.dialects.reductions import ReduceKind as ReduceKind
from tileopt.dialects.reductions import check_kind
from tileopt.dialects.simt_atomic import check_tile_atomic
from tileopt.dialects.tile_types import ViewType

I64 = eq(i64)
FRAGMENT = BaseAttr(VectorType)


@irdl_op_definition
class Splat(IRDLOperation):
    """A fragment with one scalar in every register."""

    name = "simt.splat"
    value = operand_def()
    result = result_def(FRAGMENT)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def verify_(self) -> None:
        check_fragment(self.result.type, "the result")
        if element_type(self.result.type) != self.value.type:
            raise VerifyException(f"a splat of {self.value.type} cannot give {self.result.type}")


def fragment_layout(layout: LayoutAttr, shape: tuple[int, ...], fragment: Attribute) -> Layout:
    """The layout over `shape`, checked against the fragment's number of registers."""
    registers = check_fragment(fragment, "the fragment")
    check_shape(shape, "the tile", list(shape))
    check_layout(layout, shape, "the tile")
    over = layout.over(shape)
    if registers != over.registers:
        raise VerifyException(f"the layout has {over.registers} registers, the fragment is {fragment}")
    return over


def shape_of(array: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """A shape property as integers."""
    return array.get_values()


class _OverShape(IRDLOperation):
    """Common to ops whose layout spans a tile that no operand's type shows."""

    layout = prop_def(layout_attr("layout"))
    shape = prop_def(indices("shape"))
    irdl_options = (ParsePropInAttrDict(),)

    def layout_over(self, fragment: Attribute) -> Layout:
        return fragment_layout(self.layout, shape_of(self.shape), fragment)


@irdl_op_definition
class FragmentCoord(_OverShape):
    """The coordinate along `axis` of the element in each register, as i32 or i64."""

    name = "simt.fragment_coord"
    axis = prop_def(integer("axis"))
    result = result_def(FRAGMENT)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def verify_(self) -> None:
        self.layout_over(self.result.type)
        check_axis(self.axis, len(self.shape), f"the tile {list(shape_of(self.shape))}")
        if element_type(self.result.type) not in (i32, i64):
            raise VerifyException(f"a coordinate is of i32 or i64, not {element_type(self.result.type)}")


@irdl_op_definition
class FragmentLoad(_OverShape):
    """Reads a fragment of the tile of `shape` at the element offsets; the properties are those of `tile.load`."""

    name = "simt.fragment_load"
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    padding = opt_prop_def(PADDING)
    bounds = opt_prop_def(BOUNDS)
    vector = opt_prop_def(integer("vector"))
    phased = opt_prop_def(UnitAttr)
    cache = opt_prop_def(string("cache"))
    unchecked = opt_prop_def(UnitAttr)
    result = result_def(FRAGMENT)
    traits = traits_def(ReadsView())
    assembly_format = "$view `[` $offsets `]` attr-dict `:` type($view) `->` type($result)"

    def verify_(self) -> None:
        self.layout_over(self.result.type)
        _verify_access(self, self.result.type)
        assert isinstance(self.view.type, ViewType)
        check_padding(self.padding, self.view.type.element_type)
        check_cache(self.cache)


@irdl_op_definition
class FragmentStore(_OverShape):
    """Writes a fragment; one of several replicas writes."""

    name = "simt.fragment_store"
    value = operand_def(FRAGMENT)
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    bounds = opt_prop_def(BOUNDS)
    vector = opt_prop_def(integer("vector"))
    phased = opt_prop_def(UnitAttr)
    cache = opt_prop_def(string("cache"))
    unchecked = opt_prop_def(UnitAttr)
    traits = traits_def(WritesView())
    assembly_format = "$value `,` $view `[` $offsets `]` attr-dict `:` type($value) `,` type($view)"

    def verify_(self) -> None:
        self.layout_over(self.value.type)
        _verify_access(self, self.value.type)
        assert isinstance(self.view.type, ViewType)
        if not self.view.type.owned:
            raise VerifyException("a store needs an owned view")
        check_cache(self.cache)


@irdl_op_definition
class FragmentAtomic(_OverShape):
    """Updates the elements of an array by a fragment, each by one atomic operation; one of several replicas does."""

    name = "simt.fragment_atomic"
    value = operand_def(FRAGMENT)
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    kind = prop_def(string("kind"))
    bounds = opt_prop_def(BOUNDS)
    vector = opt_prop_def(integer("vector"))
    traits = traits_def(UpdatesElement())
    assembly_format = "$value `,` $view `[` $offsets `]` attr-dict `:` type($value) `,` type($view)"

    def verify_(self) -> None:
        self.layout_over(self.value.type)
        _verify_access(self, self.value.type)
        check_tile_atomic(self.kind, self.view.type)


def _verify_access(op: FragmentLoad | FragmentStore | FragmentAtomic, fragment: Attribute) -> None:
    view, offsets, rank = op.view.type, len(op.offsets), len(op.shape)
    assert isinstance(view, ViewType)
    if not view.rank == offsets == rank:
        raise VerifyException(f"array, offsets and tile have the ranks {view.rank}, {offsets}, {rank}")
    if view.element_type != element_type(fragment):
        raise VerifyException(f"a fragment of {element_type(fragment)}, an array of {view.element_type}")
    check_bounds(op.bounds, rank)
    check_vector(op.vector)


@irdl_op_definition
class FragmentReduce(_OverShape):
    """Combines the registers of each thread along `axis`; phantoms count as the kind's identity.

    Result register r is element r of the layout without that axis; threads that share it hold partial results.
    """

    name = "simt.fragment_reduce"
    source = operand_def(FRAGMENT)
    kind = prop_def(string("kind"))
    axis = prop_def(integer("axis"))
    result = result_def(FRAGMENT)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        over = self.layout_over(self.source.type)
        check_kind(self.kind, element_type(self.source.type))
        check_axis(self.axis, len(over.shape), f"the tile {list(over.shape)}")
        left = over.drop_axis(self.axis.value.data)
        if check_fragment(self.result.type, "the result") != left.registers:
            raise VerifyException(f"the reduction leaves {left.registers} registers, the result is {self.result.type}")
        if element_type(self.source.type) != element_type(self.result.type):
            raise VerifyException("source and result differ in element type")


@irdl_op_definition
class FragmentSelect(IRDLOperation, HasFolderInterface, HasCanonicalizationPatternsInterface):
    """Register r of the result is register `registers[r]` of the source: no data moves between threads."""

    name = "simt.fragment_select"
    source = operand_def(FRAGMENT)
    registers = prop_def(indices("registers"))
    result = result_def(FRAGMENT)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        chosen = self.registers.get_values()
        held = check_fragment(self.source.type, "the source")
        if check_fragment(self.result.type, "the result") != len(chosen):
            raise VerifyException(f"{len(chosen)} registers are chosen, the result is {self.result.type}")
        if any(not 0 <= r < held for r in chosen):
            raise VerifyException(f"a chosen register is not one of the {held} of the source")
        if element_type(self.source.type) != element_type(self.result.type):
            raise VerifyException("source and result differ in element type")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        same = self.source.type == self.result.type
        return (self.source,) if same and self.registers.get_values() == tuple(range(len(self.registers))) else None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from tileopt.dialects.simt_canonical import MergeSelects, SelectSplat

        return (SelectSplat(), MergeSelects())


@irdl_op_definition
class Extract(IRDLOperation):
    """One register of a fragment as a scalar."""

    name = "simt.extract"
    source = operand_def(FRAGMENT)
    register = prop_def(integer("register"))
    result = result_def()
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        if not 0 <= self.register.value.data < check_fragment(self.source.type, "the source"):
            raise VerifyException(f"{self.source.type} has no register {self.register.value.data}")
        if element_type(self.source.type) != self.result.type:
            raise VerifyException(f"a register of {self.source.type} is not {self.result.type}")


@irdl_op_definition
class ShiftIn(IRDLOperation):
    """The registers of a fragment without as many of the first as there are scalars, and then the scalars."""

    name = "simt.shift_in"
    source = operand_def(FRAGMENT)
    values = var_operand_def()
    result = result_def(FRAGMENT)
    traits = traits_def(Pure())
    assembly_format = "$values `into` $source attr-dict `:` type($values) `into` type($source) `->` type($result)"

    def verify_(self) -> None:
        held = check_fragment(self.result.type, "the result")
        if not 1 <= len(self.values) <= held:
            raise VerifyException(f"{len(self.values)} scalars for a fragment of {held} registers")
        if self.source.type != self.result.type or any(t != element_type(self.result.type) for t in self.values.types):
            raise VerifyException(f"fragment and scalars are not those of {self.result.type}")


@irdl_op_definition
class ShuffleXor(IRDLOperation):
    """Each register's value in the lane whose id differs in the bits of `mask`; all lanes of the warp take part."""

    name = "simt.shuffle_xor"
    source = operand_def()
    mask = prop_def(integer("mask"))
    result = result_def()
    traits = traits_def(MemoryReadEffect())  # keeps its place: all lanes must meet here
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source)  `->` type($result)"

    def verify_(self) -> None:
        if self.source.type != self.result.type:
            raise VerifyException("a shuffle keeps the type")
        if isinstance(self.source.type, VectorType):
            check_fragment(self.source.type, "the source")
        elif self.source.type not in SCALAR_TYPES:
            raise VerifyException(f"a shuffle moves a fragment or a scalar, not {self.source.type}")
        if not 0 < self.mask.value.data < WARP_SIZE:
            raise VerifyException(f"a lane mask is 1 to {WARP_SIZE - 1}, not {self.mask.value.data}")


FragmentOps: list[type[Operation]] = [
    Splat, FragmentCoord, FragmentLoad, FragmentStore, FragmentAtomic, FragmentReduce, FragmentSelect, Extract, ShiftIn,
    ShuffleXor,
]  # fmt: skip
