"""The simt dialect: what a thread does.

A tile is now a *fragment*: `vector<Nxt>`, N registers of each thread, spread as the layout attribute says (register
r of thread (lane, warp) is element `layout.coord(r, lane, warp)`). One op moves or combines a whole fragment; the
backend expands it to instructions. Kernels that say themselves what a thread does work on scalars, by the ops of
`simt_thread`, `simt_warp`, `simt_atomic` and `simt_host`. Loops stay `scf`, arithmetic `arith` and `math` on vectors
and scalars. Threads of a block are numbered linearly: lane = id mod 32, warp = id // 32.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    VectorType,
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
from xdsl.traits import HasParent, IsTerminator, MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import (
    BOUNDS,
    PADDING,
    check_axis,
    check_bounds,
    check_fragment,
    check_layout,
    check_padding,
    check_product,
    check_shape,
    check_tile,
    check_vector,
    indices,
    integer,
    layout_attr,
    string,
)
from tileopt.dialects.constants import Constants
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.effects import AllocatesResult, ReadsView, UpdatesElement, WritesView
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.kernel import SCALAR_TYPES, KernelOp
from tileopt.dialects.layout import WARP_SIZE, Layout
from tileopt.dialects.queries import GridQuery
from tileopt.dialects.reductions import ReduceKind as ReduceKind
from tileopt.dialects.reductions import check_kind
from tileopt.dialects.simt_atomic import AtomicOps, check_tile_atomic
from tileopt.dialects.simt_constant import ConstantOps
from tileopt.dialects.simt_host import HostOps
from tileopt.dialects.simt_thread import ThreadOps
from tileopt.dialects.simt_warp import WarpOps
from tileopt.dialects.tile_types import DYNAMIC, BufferType, ViewType

I64 = eq(i64)
FRAGMENT = BaseAttr(VectorType)
TOGETHER = "simt.together"  # op attribute: the threads of the block do it together, though each may go ways of its own
THREADS = "simt.threads"  # kernel attribute: threads of a block
WORKERS = "simt.workers"  # kernel attribute: how many threads, from the first, hold fragments, where not all do
SHARED_BYTES = "simt.shared_bytes"  # kernel attribute: static shared memory, set by allocate-onchip


@irdl_op_definition
class Kernel(KernelOp):
    """A kernel of the SIMT level; its body is what one thread does. Attribute `simt.threads`: threads of a block."""

    name = "simt.kernel"


@irdl_op_definition
class Return(IRDLOperation):
    """Ends the thread; stands last in the kernel's body."""

    name = "simt.return"
    traits = traits_def(IsTerminator(), HasParent(Kernel))
    assembly_format = "attr-dict"


@irdl_op_definition
class ThreadId(IRDLOperation):
    """The thread's linear id in its block, from 0."""

    name = "simt.thread_id"
    result = result_def(eq(i32))
    traits = traits_def(Pure())
    assembly_format = "attr-dict"


@irdl_op_definition
class BlockId(GridQuery):
    """The block's id along a grid axis, from 0."""

    name = "simt.block_id"


@irdl_op_definition
class GridDim(GridQuery):
    """The grid's extent along an axis."""

    name = "simt.grid_dim"


@irdl_op_definition
class Dim(IRDLOperation, HasFolderInterface):
    """The run-time extent of an array along an axis."""

    name = "simt.dim"
    view = operand_def(ViewType)
    axis = prop_def(integer("axis"))
    result = result_def(I64)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$view attr-dict `:` type($view)"

    def verify_(self) -> None:
        assert isinstance(self.view.type, ViewType)
        check_axis(self.axis, self.view.type.rank, self.view.type)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        assert isinstance(self.view.type, ViewType)
        extent = self.view.type.get_shape()[self.axis.value.data]
        return None if extent == DYNAMIC else (IntegerAttr(extent, i64),)


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
    unchecked = opt_prop_def(UnitAttr)
    result = result_def(FRAGMENT)
    traits = traits_def(ReadsView())
    assembly_format = "$view `[` $offsets `]` attr-dict `:` type($view) `->` type($result)"

    def verify_(self) -> None:
        self.layout_over(self.result.type)
        _verify_access(self, self.result.type)
        assert isinstance(self.view.type, ViewType)
        check_padding(self.padding, self.view.type.element_type)


@irdl_op_definition
class FragmentStore(_OverShape):
    """Writes a fragment; one of several replicas writes."""

    name = "simt.fragment_store"
    value = operand_def(FRAGMENT)
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    bounds = opt_prop_def(BOUNDS)
    vector = opt_prop_def(integer("vector"))
    unchecked = opt_prop_def(UnitAttr)
    traits = traits_def(WritesView())
    assembly_format = "$value `,` $view `[` $offsets `]` attr-dict `:` type($value) `,` type($view)"

    def verify_(self) -> None:
        self.layout_over(self.value.type)
        _verify_access(self, self.value.type)
        assert isinstance(self.view.type, ViewType)
        if not self.view.type.owned:
            raise VerifyException("a store needs an owned view")


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
class AllocShared(IRDLOperation):
    """A tile in the block's shared memory, or a ring of `slots` such tiles one after the other.

    `offset`: bytes from the start of the block's shared memory, once `allocate-onchip` chose it.
    """

    name = "simt.alloc_shared"
    slots = opt_prop_def(integer("slots"))
    offset = opt_prop_def(integer("offset"))
    result = result_def(BufferType)
    traits = traits_def(AllocatesResult())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"

    def verify_(self) -> None:
        check_tile(self.result.type, "the buffer")
        if self.slots is not None and self.slots.value.data < 1:
            raise VerifyException("a ring has at least one slot")
        if self.offset is not None and self.offset.value.data < 0:
            raise VerifyException("an offset is not negative")


@irdl_op_definition
class Slot(IRDLOperation):
    """Tile `index` (from 0, below the number of slots) of a ring."""

    name = "simt.slot"
    ring = operand_def(BufferType)
    index = operand_def(I64)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "$ring `[` $index `]` attr-dict `:` type($ring) `->` type($result)"

    def verify_(self) -> None:
        if self.ring.type != self.result.type:
            raise VerifyException("a ring's slot has the ring's type")


@irdl_op_definition
class ViewBuffer(IRDLOperation, HasFolderInterface):
    """The same shared memory through another type of the same size (axes permuted, for example)."""

    name = "simt.view_buffer"
    source = operand_def(BufferType)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, BufferType) and isinstance(result, BufferType)
        if source.shared_layout.size != result.shared_layout.size or source.element_type != result.element_type:
            raise VerifyException(f"{source} and {result} do not take the same memory")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.source,) if self.source.type == self.result.type else None


@irdl_op_definition
class SharedLoad(IRDLOperation):
    """Reads a fragment of a tile in shared memory; phantoms read as zero."""

    name = "simt.shared_load"
    source = operand_def(BufferType)
    layout = prop_def(layout_attr("layout"))
    result = result_def(FRAGMENT)
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        assert isinstance(self.source.type, BufferType)
        fragment_layout(self.layout, self.source.type.get_shape(), self.result.type)
        if self.source.type.element_type != element_type(self.result.type):
            raise VerifyException("buffer and fragment differ in element type")


@irdl_op_definition
class SharedStore(IRDLOperation):
    """Writes a fragment to a tile in shared memory; phantoms are not written, one of several replicas writes."""

    name = "simt.shared_store"
    value = operand_def(FRAGMENT)
    target = operand_def(BufferType)
    layout = prop_def(layout_attr("layout"))
    traits = traits_def(MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value `,` $target attr-dict `:` type($value) `,` type($target)"

    def verify_(self) -> None:
        assert isinstance(self.target.type, BufferType)
        fragment_layout(self.layout, self.target.type.get_shape(), self.value.type)
        if self.target.type.element_type != element_type(self.value.type):
            raise VerifyException("buffer and fragment differ in element type")


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


@irdl_op_definition
class Barrier(IRDLOperation):
    """All threads of the block meet; their accesses to memory before it are seen after it. With `proxy`, also by units
    that reach shared memory past the threads (wgmma, bulk copies).

    With `id` (1 to 15; the whole block's is 0) only so many `threads` meet, whole warps, those that come to it.
    """

    name = "simt.barrier"
    proxy = opt_prop_def(UnitAttr)
    id = opt_prop_def(integer("id"))
    threads = opt_prop_def(integer("threads"))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if (self.id is None) != (self.threads is None):
            raise VerifyException("a barrier of some threads has both an id and their number")
        if self.id is not None and not 1 <= self.id.value.data <= 15:
            raise VerifyException(f"a barrier of some threads has an id from 1 to 15, not {self.id.value.data}")
        if self.threads is not None and (self.threads.value.data < 1 or self.threads.value.data % WARP_SIZE):
            raise VerifyException(f"whole warps meet, not {self.threads.value.data} threads")


@irdl_op_definition
class Dot(IRDLOperation):
    """`acc + a @ b` by fused multiply-adds: each thread computes the elements that it holds of `acc`, reading its rows
    of `a` (MxK) and columns of `b` (KxN) from shared memory. Products are rounded once, in the accumulator's type.
    `unsigned`: integers of a and b have no sign."""

    name = "simt.dot"
    a = operand_def(BufferType)
    b = operand_def(BufferType)
    acc = operand_def(FRAGMENT)
    layout = prop_def(layout_attr("layout"))
    unsigned = opt_prop_def(UnitAttr)
    result = result_def(FRAGMENT)
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `,` type($acc) `->` type($result)"

    def verify_(self) -> None:
        a, b = self.a.type, self.b.type
        assert isinstance(a, BufferType) and isinstance(b, BufferType)
        if a.rank != 2 or b.rank != 2 or a.get_shape()[1] != b.get_shape()[0]:
            raise VerifyException(f"{a} and {b} cannot be multiplied")
        check_product(a.element_type, b.element_type, element_type(self.acc.type))
        fragment_layout(self.layout, (a.get_shape()[0], b.get_shape()[1]), self.acc.type)
        if self.acc.type != self.result.type:
            raise VerifyException("accumulator and result differ in type")


SimtOps: list[type[Operation]] = [
    Kernel, Return, ThreadId, BlockId, GridDim, Dim, Splat, FragmentCoord, FragmentLoad, FragmentStore, FragmentAtomic,
    AllocShared, Slot, ViewBuffer, SharedLoad, SharedStore, FragmentReduce, FragmentSelect, Extract, ShiftIn,
    ShuffleXor, Barrier, Dot, *ThreadOps, *WarpOps, *AtomicOps, *HostOps,
    *ConstantOps,
]  # fmt: skip

Simt = Dialect("simt", SimtOps, [], [Constants()])
