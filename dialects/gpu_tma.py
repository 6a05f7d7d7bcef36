"""The bulk tensor copies (TMA) of the gpu dialect: one thread starts the copy of a whole tile.

A tile is a `!tile.buffer` whose layout the copy engine knows (see `tensor_map`); a tile of several panels is several
copies. What lies outside the array is zero in the tile, and is not written to the array, whatever `bounds` says.
Offsets are in elements.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
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
from tileopt.dialects.gpu_scopes import check_cluster
from tileopt.dialects.kernel import MAX_CLUSTER
from tileopt.dialects.tensor_map import parted_axis, unfit_tile
from tileopt.dialects.tile_types import BufferType, ViewType

I64 = eq(i64)


def parts_of(op: Operation) -> int:
    """How many blocks a copy is shared out to."""
    parts = op.properties.get("parts")
    return parts.value.data if isinstance(parts, IntegerAttr) else 1


def check_parts(parts: int, type_: object) -> None:
    """Raises VerifyException where a tile cannot be copied in so many parts."""
    assert isinstance(type_, BufferType)
    if not 2 <= parts <= MAX_CLUSTER or parts & (parts - 1):
        raise VerifyException(f"parts are a power of two from 2 to {MAX_CLUSTER}, not {parts}")
    if parted_axis(type_.shared_layout, parts) is None:
        raise VerifyException(f"no {parts} parts of a multiple of 8 rows make {type_}")


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
    """Starts the copy of a tile of the array; a barrier of this block counts the bytes when they have arrived.

    `parts`: of a cluster of so many blocks, each of which does the same op: block r copies part r of the tile into the
    same place of every block's buffer, and counts its bytes at the same barrier of each (multicast)."""

    name = "gpu.tma_load"
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    buffer = operand_def(BufferType)
    barriers = operand_def(BufferType)
    index = operand_def(I64)
    bounds = opt_prop_def(BOUNDS)
    parts = opt_prop_def(integer("parts"))
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
        if self.parts is not None:
            check_parts(self.parts.value.data, self.buffer.type)
            check_cluster(self)


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
