"""The thread's part of the simt dialect: which thread runs, and one element of memory at a time.

Memory is an array (`!tile.view`) or a tile in shared memory (`!tile.buffer`); indices are i64. An access carries
`bounds`, what elide-bounds found out about it; without it, or where it says `checked`, the thread tests its index and
a test that fails stops the kernel with an error at the host. The other outcomes of a tile access have no meaning here
but `proved`, `launch` and `unchecked`: an element has no tail to mask.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation
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
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.checks import BOUNDS, check_bounds, integer, string
from tileopt.dialects.diagnostics import counted
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.effects import ReadsElement, WritesElement
from tileopt.dialects.kernel import DYNAMIC_SHARED, KernelOp
from tileopt.dialects.part_checks import Checked
from tileopt.dialects.tile_types import Access, BufferType, ViewType

I64 = eq(i64)
MEMORY = BaseAttr(ViewType) | BaseAttr(BufferType)
ELEMENT_OUTCOMES = (Outcome.PROVED, Outcome.LAUNCH, Outcome.CHECKED, Outcome.UNCHECKED)


class _ThreadQuery(IRDLOperation):
    axis = prop_def(integer("axis"))
    result = result_def(I64)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if not 0 <= self.axis.value.data <= 2:
            raise VerifyException("a block has the axes 0, 1 and 2")


@irdl_op_definition
class ThreadIdx(_ThreadQuery):
    """The thread's place in its block along an axis, from 0. `simt.thread_id` counts axis 0 fastest, then 1, then 2."""

    name = "simt.thread_idx"


@irdl_op_definition
class BlockDim(_ThreadQuery):
    """The block's extent along an axis: what the kernel's `simt.block` says."""

    name = "simt.block_dim"


def check_access(memory: Attribute, indices: int, element: Attribute, bounds: BoundsAttr | None) -> None:
    """One index for each axis, an element of the memory's type, an outcome that an element can have."""
    assert isinstance(memory, ViewType | BufferType)
    if memory.rank != indices:
        raise VerifyException(f"{counted(indices, 'index', 'indices')} for {memory} of rank {memory.rank}")
    if memory.element_type != element:
        raise VerifyException(f"an element of {memory} is not {element}")
    check_outcome(bounds)
    check_bounds(bounds, memory.rank)


def check_outcome(bounds: BoundsAttr | None) -> None:
    if bounds is not None and bounds.outcome not in ELEMENT_OUTCOMES:
        raise VerifyException(f"an element is proved, launch, checked or unchecked, not {bounds.outcome}")


@irdl_op_definition
class ElementLoad(IRDLOperation):
    """Reads one element. Arrays of atomics are read by atomic operations only."""

    name = "simt.element_load"
    mem = operand_def(MEMORY)
    indices = var_operand_def(I64)
    bounds = opt_prop_def(BOUNDS)
    result = result_def()
    traits = traits_def(ReadsElement())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$mem `[` $indices `]` attr-dict `:` type($mem) `->` type($result)"

    def verify_(self) -> None:
        check_access(self.mem.type, len(self.indices), self.result.type, self.bounds)
        if isinstance(self.mem.type, ViewType) and self.mem.type.access.data == Access.ATOMIC:
            raise VerifyException("a plain load of an atomic view")


@irdl_op_definition
class ElementStore(IRDLOperation):
    """Writes one element. `witness`: the source made the index from a thread index that no other thread has.

    The frontend says so; verify-ownership proves it from the index itself.
    """

    name = "simt.element_store"
    value = operand_def()
    mem = operand_def(MEMORY)
    indices = var_operand_def(I64)
    bounds = opt_prop_def(BOUNDS)
    witness = opt_prop_def(UnitAttr)
    traits = traits_def(WritesElement())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value `,` $mem `[` $indices `]` attr-dict `:` type($value) `,` type($mem)"

    def verify_(self) -> None:
        check_access(self.mem.type, len(self.indices), self.value.type, self.bounds)
        if isinstance(self.mem.type, ViewType) and not self.mem.type.owned:
            raise VerifyException("a plain store needs an owned view or a buffer")


@irdl_op_definition
class CheckIndex(IRDLOperation):
    """Stops the kernel unless 0 <= index < length; what follows may rely on it. Made where a row, a column or a window
    of an array is, so that nothing need be tested where its elements are read. `array` names it in the report; in the
    error `what` says what is counted (`Checked`; by default an index) and `of` of what (by default the array)."""

    name = "simt.check_index"
    index = operand_def(I64)
    length = operand_def(I64)
    array = prop_def(string("array"))
    what = opt_prop_def(string("what"))
    of = opt_prop_def(string("of"))
    bounds = opt_prop_def(BOUNDS)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())  # neither dropped nor moved
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$index `below` $length attr-dict"

    def verify_(self) -> None:
        assert isinstance(self.array, StringAttr)
        if self.what is not None and self.what.data not in tuple(Checked):
            raise VerifyException(f"a check is of {', '.join(Checked)}, not of {self.what.data!r}")
        check_outcome(self.bounds)
        check_bounds(self.bounds, 1)


@irdl_op_definition
class DynamicShared(IRDLOperation):
    """The block's dynamic shared memory from byte `offset` on, as a buffer; two of one place are the same memory. Its
    size is the kernel's attribute `simt.dynamic_shared`."""

    name = "simt.dynamic_shared"
    offset = prop_def(integer("offset"))
    result = result_def(BufferType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"

    def verify_(self) -> None:
        buffer, start = self.result.type, self.offset.value.data
        assert isinstance(buffer, BufferType)
        step = bit_width(buffer.element_type) // 8
        if start < 0 or start % step:
            raise VerifyException(f"{buffer} cannot begin at byte {start}: its elements take {step} bytes")
        kernel = self.parent_op()
        while kernel is not None and not isinstance(kernel, KernelOp):
            kernel = kernel.parent_op()
        if kernel is None:
            return
        size, end = kernel.integer(DYNAMIC_SHARED), start + buffer.shared_layout.size * step
        if size is None or end > size:
            raise VerifyException(f"the buffer ends at byte {end} of {size or 0} of dynamic shared memory")


ThreadOps: list[type[Operation]] = [ThreadIdx, BlockDim, ElementLoad, ElementStore, CheckIndex, DynamicShared]
