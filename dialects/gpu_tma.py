"""The bulk tensor copies (TMA) of the gpu dialect: one thread starts the copy of a whole tile.

A tile is a `!tile.buffer` whose layout the copy engine knows (see `tensor_map`); a tile of several panels is several
copies. What lies outside the array is zero in the tile, and is not written to the array, whatever `bounds` says.
Offsets are in elements.
"""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import BOUNDS, check_bounds, check_tile, integer
from tileopt.dialects.gpu_mbarrier import check_barriers
from tileopt.dialects.tensor_map import unfit_tile
from tileopt.dialects.tile_types import BufferType, ViewType

I64 = eq(i64)


def _check(view: SSAValue, offsets: int, buffer: SSAValue) -> None:
    assert isinstance(view.type, ViewType) and isinstance(buffer.type, BufferType)
    if not view.type.rank == buffer.type.rank == offsets:
        raise VerifyException("offsets, array and buffer differ in rank")
    if view.type.element_type != buffer.type.element_type:
        raise VerifyException("array and buffer differ in element type")
    check_tile(buffer.type, "the buffer")
    reason = unfit_tile(view.type, buffer.type)
    if reason is not None:
        raise VerifyException(reason)


@irdl_op_definition
class TmaLoad(IRDLOperation):
    """Starts the copy of a tile of the array; a barrier of this block counts the bytes when they have arrived."""

    name = "gpu.tma_load"
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    buffer = operand_def(BufferType)
    barriers = operand_def(BufferType)
    index = operand_def(I64)
    bounds = opt_prop_def(BOUNDS)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$view `[` $offsets `]` `,` $buffer `,` $barriers `[` $index `]` attr-dict `:` "
        "type($view) `,` type($buffer) `,` type($barriers)"
    )

    def verify_(self) -> None:
        _check(self.view, len(self.offsets), self.buffer)
        check_bounds(self.bounds, len(self.offsets))
        check_barriers(self.barriers.type)


@irdl_op_definition
class TmaStore(IRDLOperation):
    """Starts the copy of a tile to the array. It sees what was written to the tile before a `simt.barrier {proxy}`."""

    name = "gpu.tma_store"
    buffer = operand_def(BufferType)
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    bounds = opt_prop_def(BOUNDS)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$buffer `,` $view `[` $offsets `]` attr-dict `:` type($buffer) `,` type($view)"

    def verify_(self) -> None:
        _check(self.view, len(self.offsets), self.buffer)
        check_bounds(self.bounds, len(self.offsets))
        assert isinstance(self.view.type, ViewType)
        if not self.view.type.owned:
            raise VerifyException(f"a store to {self.view.type}, which is not owned")


@irdl_op_definition
class TmaCommit(IRDLOperation):
    """Closes a group of this thread's bulk stores."""

    name = "gpu.tma_commit"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class TmaWait(IRDLOperation):
    """Waits until at most `pending` of this thread's groups are under way. `read`: until their tiles were read, and may
    be written again; else until the array was written."""

    name = "gpu.tma_wait"
    pending = prop_def(integer("pending"))
    read = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if self.pending.value.data < 0:
            raise VerifyException(f"pending counts groups, it is not {self.pending.value.data}")


TmaOps: list[type[Operation]] = [TmaLoad, TmaStore, TmaCommit, TmaWait]
