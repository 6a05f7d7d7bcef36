"""The gpu dialect: the hardware, one op a PTX family, on whole fragments. The names are PTX's.

Takes the place of xDSL's dialect of the same name, which has neither these ops nor effects.
"""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType, i64
from xdsl.ir import Dialect, Operation
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
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import (
    BOUNDS,
    PADDING,
    check_bounds,
    check_layout,
    check_padding,
    check_product,
    check_tile,
    integer,
    layout_attr,
    string,
)
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.gpu_accumulator import AccumulatorOps
from tileopt.dialects.gpu_cluster import ClusterOps
from tileopt.dialects.gpu_inline import InlineOps
from tileopt.dialects.gpu_mbarrier import MbarrierOps
from tileopt.dialects.gpu_tensor import TensorOps
from tileopt.dialects.gpu_tma import TmaOps
from tileopt.dialects.gpu_warpgroup import WarpgroupOps
from tileopt.dialects.gpu_wgmma import WgmmaOps
from tileopt.dialects.gpu_words import WordOps
from tileopt.dialects.layout import Coord, Layout
from tileopt.dialects.simt import fragment_layout
from tileopt.dialects.tile_types import BufferType, ViewType

FRAGMENT = BaseAttr(VectorType)
I64 = eq(i64)


@irdl_op_definition
class MmaSync(IRDLOperation):
    """`acc + a @ b` for fragments of an MxK, a KxN and an MxN tile: the atom's `mma.sync` as often as the tile needs.

    The layouts are the atom's, tiled (see `Fragment.tiled`). All lanes of a warp take part. `scales`: bytes of those of
    a (an M x `blocks` tile) and of b (`blocks` x N), each for a part of K; operands may then differ in type.
    """

    name = "gpu.mma_sync"
    a = operand_def(FRAGMENT)
    b = operand_def(FRAGMENT)
    acc = operand_def(FRAGMENT)
    atom = prop_def(string("atom"))
    m = prop_def(integer("m"))
    n = prop_def(integer("n"))
    k = prop_def(integer("k"))
    layout_a = prop_def(layout_attr("layout_a"))
    layout_b = prop_def(layout_attr("layout_b"))
    layout_acc = prop_def(layout_attr("layout_acc"))
    scales = var_operand_def(FRAGMENT)
    blocks = opt_prop_def(integer("blocks"))
    layout_a_scale = opt_prop_def(layout_attr("layout_a_scale"))
    layout_b_scale = opt_prop_def(layout_attr("layout_b_scale"))
    result = result_def(FRAGMENT)
    traits = traits_def(MemoryReadEffect())  # keeps its place: all lanes must meet here
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$a `,` $b `,` $acc (`scaled` $scales^)? attr-dict `:` type($a) `,` type($b) `,` type($acc) "
        "(`scaled` type($scales)^)? `->` type($result)"
    )

    def verify_(self) -> None:
        m, n, k = self.m.value.data, self.n.value.data, self.k.value.data
        fragment_layout(self.layout_a, (m, k), self.a.type)
        fragment_layout(self.layout_b, (k, n), self.b.type)
        fragment_layout(self.layout_acc, (m, n), self.acc.type)
        if self.scales:
            self._verify_scales(m, n)
        else:
            check_product(element_type(self.a.type), element_type(self.b.type), element_type(self.acc.type))
        if self.acc.type != self.result.type:
            raise VerifyException("accumulator and result differ in type")

    def _verify_scales(self, m: int, n: int) -> None:
        if len(self.scales) != 2 or not (self.blocks and self.layout_a_scale and self.layout_b_scale):
            raise VerifyException("a product with scales has those of a and of b, their layouts, and blocks")
        blocks = self.blocks.value.data
        fragment_layout(self.layout_a_scale, (m, blocks), self.scales[0].type)
        fragment_layout(self.layout_b_scale, (blocks, n), self.scales[1].type)


def word_axis(layout: Layout, bits: int) -> int:
    """The axis along which a fragment of `ldmatrix` fills words: that of a register's elements, or of a row's lanes
    where an element fills a word."""
    first = layout.regs[0] if bits < 32 else layout.lanes[0]
    return next((axis for axis, step in enumerate(first) if step), 0)


def turns_bytes(layout: Layout, row_axis: int) -> bool:
    """Whether a fragment of bytes is one that `ldmatrix` can read from where its words lie across memory's rows, which
    run along `row_axis`: sixteen rows of it, two of each thread, lie side by side there."""
    k_axis = 1 - row_axis

    def step(axis: int, value: int) -> Coord:
        return (value, 0) if axis == 0 else (0, value)

    regs = (step(k_axis, 1), step(k_axis, 2), step(row_axis, 1))
    lanes = (step(k_axis, 4), step(k_axis, 8), *(step(row_axis, value) for value in (2, 4, 8)))
    return len(layout.shape) == 2 and layout.regs[:3] == regs and layout.lanes == lanes


@irdl_op_definition
class LdMatrix(IRDLOperation):
    """Reads a fragment from shared memory with `ldmatrix`, in blocks of 8 rows of 16 bytes. Elements of 16 bits, and
    bytes in pairs, are transposed where the fragment's words run along the buffer's slower axis. No phantoms."""

    name = "gpu.ldmatrix"
    source = operand_def(BufferType)
    layout = prop_def(layout_attr("layout"))
    result = result_def(FRAGMENT)
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        assert isinstance(self.source.type, BufferType)
        over = fragment_layout(self.layout, self.source.type.get_shape(), self.result.type)
        bits = bit_width(self.source.type.element_type)
        if bits not in (8, 16, 32):
            raise VerifyException(f"ldmatrix moves elements of 8, 16 or 32 bits, not {self.source.type.element_type}")
        if self.source.type.element_type != element_type(self.result.type):
            raise VerifyException("buffer and fragment differ in element type")
        if over.has_phantoms or len(over.shape) != 2:
            raise VerifyException("ldmatrix needs a matrix that the fragment tiles exactly")
        row_axis = self.source.type.shared_layout.order[-1]
        turned = word_axis(over, bits) != row_axis and bits != 16
        if turned and not (bits == 8 and turns_bytes(over, row_axis)):
            element = self.source.type.element_type
            raise VerifyException(f"ldmatrix transposes elements of 16 bits, and bytes in pairs of rows, not {element}")


@irdl_op_definition
class CpAsync(IRDLOperation):
    """Starts `cp.async` copies of the tile at the element offsets into a buffer; `layout` says who copies what.

    `vector` elements (4, 8 or 16 bytes) are copied together; those outside the array become zero.
    """

    name = "gpu.cp_async"
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    target = operand_def(BufferType)
    layout = prop_def(layout_attr("layout"))
    vector = prop_def(integer("vector"))
    bounds = opt_prop_def(BOUNDS)
    padding = opt_prop_def(PADDING)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$view `[` $offsets `]` `,` $target attr-dict `:` type($view) `,` type($target)"

    def verify_(self) -> None:
        view, target = self.view.type, self.target.type
        assert isinstance(view, ViewType) and isinstance(target, BufferType)
        if not view.rank == target.rank == len(self.offsets):
            raise VerifyException("offsets, array and buffer differ in rank")
        if view.element_type != target.element_type:
            raise VerifyException("array and buffer differ in element type")
        check_tile(target, "the buffer")
        check_layout(self.layout, target.get_shape(), "the buffer")
        check_bounds(self.bounds, view.rank)
        check_padding(self.padding, view.element_type)
        size = self.vector.value.data * bit_width(view.element_type) // 8
        if size not in (4, 8, 16):
            raise VerifyException(f"cp.async copies 4, 8 or 16 bytes, not {size}")


@irdl_op_definition
class CpAsyncCommit(IRDLOperation):
    """Closes a group of this thread's `cp.async` copies."""

    name = "gpu.cp_async_commit"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class CpAsyncWait(IRDLOperation):
    """Waits until at most `pending` of this thread's latest groups are in flight. Other threads need a barrier."""

    name = "gpu.cp_async_wait"
    pending = prop_def(integer("pending"))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if self.pending.value.data < 0:
            raise VerifyException(f"pending counts groups, it is not {self.pending.value.data}")


GpuOps: list[type[Operation]] = [
    MmaSync, LdMatrix, CpAsync, CpAsyncCommit, CpAsyncWait, *WgmmaOps, *MbarrierOps, *TmaOps, *WordOps, *ClusterOps,
    *InlineOps, *WarpgroupOps, *TensorOps, *AccumulatorOps,
]  # fmt: skip
Gpu = Dialect("gpu", GpuOps, [])
