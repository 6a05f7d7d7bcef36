"""The `mbarrier` family of the gpu dialect: barriers in shared memory that count arrivals of threads and of bytes.

The barriers of a block are a `!tile.buffer<Nxi64>`; `%barriers[%i]` is one of them. A barrier's phases are numbered
from 0; a phase ends when `count` arrivals and all bytes that were announced have come. Who waits names the parity of
the phase whose end it wants (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").
"""

from __future__ import annotations

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Operation
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import integer
from tileopt.dialects.tile_types import BufferType

I64 = eq(i64)
MOST_COUNT = (1 << 20) - 1  # arrivals, and bytes, of one phase


def check_barriers(type_: object) -> None:
    """Raises VerifyException for what holds no barriers."""
    if not isinstance(type_, BufferType) or type_.rank != 1 or type_.element_type != i64:
        raise VerifyException(f"barriers are a !tile.buffer<Nxi64>, not {type_}")


class _BarrierOp(IRDLOperation):
    barriers = operand_def(BaseAttr(BufferType))
    index = operand_def(I64)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$barriers `[` $index `]` attr-dict `:` type($barriers)"

    def verify_(self) -> None:
        check_barriers(self.barriers.type)


@irdl_op_definition
class MbarrierInit(_BarrierOp):
    """Makes one barrier whose phases end after `count` arrivals. One thread does it; see `gpu.mbarrier_fence`."""

    name = "gpu.mbarrier_init"
    count = prop_def(integer("count"))

    def verify_(self) -> None:
        super().verify_()
        if not 1 <= self.count.value.data <= MOST_COUNT:
            raise VerifyException(f"a phase takes 1 to {MOST_COUNT} arrivals, not {self.count.value.data}")


@irdl_op_definition
class MbarrierFence(IRDLOperation):
    """Makes the barriers that this thread has made known to bulk copies and to the cluster; the other threads of the
    block need a `simt.barrier` behind it."""

    name = "gpu.mbarrier_fence"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class MbarrierArrive(IRDLOperation):
    """This thread's arrival, where `where` holds; what it read and wrote before is done for those who wait.

    `expect`: bytes of bulk copies that the phase must see as well.
    """

    name = "gpu.mbarrier_arrive"
    barriers = operand_def(BaseAttr(BufferType))
    index = operand_def(I64)
    where = opt_operand_def(eq(i1))
    expect = opt_prop_def(integer("expect"))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$barriers `[` $index `]` (`where` $where^)? attr-dict `:` type($barriers)"

    def verify_(self) -> None:
        check_barriers(self.barriers.type)
        if self.expect is not None and not 0 <= self.expect.value.data <= MOST_COUNT:
            raise VerifyException(f"a phase takes 0 to {MOST_COUNT} bytes, not {self.expect.value.data}")


@irdl_op_definition
class MbarrierWait(IRDLOperation):
    """Waits for the end of the phase of the parity of `phase` (its lowest bit)."""

    name = "gpu.mbarrier_wait"
    barriers = operand_def(BaseAttr(BufferType))
    index = operand_def(I64)
    phase = operand_def(I64)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$barriers `[` $index `]` `,` $phase attr-dict `:` type($barriers)"

    def verify_(self) -> None:
        check_barriers(self.barriers.type)


@irdl_op_definition
class MbarrierTryWait(IRDLOperation):
    """Whether the phase of the parity of `phase` has ended; may wait for it a while."""

    name = "gpu.mbarrier_try_wait"
    barriers = operand_def(BaseAttr(BufferType))
    index = operand_def(I64)
    phase = operand_def(I64)
    result = result_def(eq(i1))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$barriers `[` $index `]` `,` $phase attr-dict `:` type($barriers)"

    def verify_(self) -> None:
        check_barriers(self.barriers.type)


@irdl_op_definition
class MbarrierInval(_BarrierOp):
    """Ends one barrier, so that its memory may hold something else. One thread does it, and none uses it after."""

    name = "gpu.mbarrier_inval"


@irdl_op_definition
class SetMaxRegisters(IRDLOperation):
    """Gives registers of this warp back, or takes more (`setmaxnreg`). All warps of a warpgroup do the same, and the
    kernel's block size must be known. `registers`: of a thread, 24 to 256 by 8."""

    name = "gpu.setmaxnreg"
    registers = prop_def(integer("registers"))
    direction = prop_def(integer("direction"))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        count = self.registers.value.data
        if not 24 <= count <= 256 or count % 8:
            raise VerifyException(f"a thread has 24 to 256 registers, a multiple of 8, not {count}")
        if self.direction.value.data not in (1, -1):
            raise VerifyException(f"direction is 1 (take) or -1 (give), not {self.direction.value.data}")


MbarrierOps: list[type[Operation]] = [
    MbarrierInit, MbarrierFence, MbarrierArrive, MbarrierWait, MbarrierTryWait, MbarrierInval, SetMaxRegisters,
]  # fmt: skip
