"""The simt dialect's shared memory: buffers and rings of them, fragments to and from them, products that read them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    UnitAttr,
    i64,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import (
    check_product,
    check_tile,
    integer,
    layout_attr,
)
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.effects import AllocatesResult
from tileopt.dialects.reductions import ReduceKind as ReduceKind
from tileopt.dialects.simt_fragment import FRAGMENT, fragment_layout
from tileopt.dialects.tile_types import BufferType

I64 = eq(i64)


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


SharedOps: list[type[Operation]] = [AllocShared, Slot, ViewBuffer, SharedLoad, SharedStore, Dot]
