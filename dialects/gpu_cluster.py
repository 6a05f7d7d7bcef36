"""The cluster's part of the gpu dialect: blocks that run together, meet, and reach each other's shared memory.

A block's rank in its cluster counts axis 0 fastest. The place of an element in another block's shared memory is that
of the same buffer's element in this block's.
"""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr, i1, i64
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.gpu_mbarrier import check_barriers
from tileopt.dialects.gpu_scopes import check_cluster
from tileopt.dialects.gpu_words import check_indices
from tileopt.dialects.tile_types import BufferType

I64 = eq(i64)


@irdl_op_definition
class ClusterArrive(IRDLOperation):
    """`barrier.cluster.arrive`: what the thread wrote before is seen by whoever waits. Each thread of the cluster
    arrives once, then waits."""

    name = "gpu.cluster_arrive"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        check_cluster(self)


@irdl_op_definition
class ClusterWait(IRDLOperation):
    """`barrier.cluster.wait`: waits until all threads of the cluster have arrived."""

    name = "gpu.cluster_wait"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        check_cluster(self)


@irdl_op_definition
class RemoteLoad(IRDLOperation):
    """Reads an element of the shared memory of the block of this rank (`mapa`, `ld.shared::cluster`)."""

    name = "gpu.remote_load"
    source = operand_def(BufferType)
    indices = var_operand_def(I64)
    rank = operand_def(I64)
    result = result_def()
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source `[` $indices `]` `of` $rank attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        check_cluster(self)
        check_indices(self.source.type, self.indices)
        assert isinstance(self.source.type, BufferType)
        if self.source.type.element_type != self.result.type:
            raise VerifyException(f"an element of {self.source.type} is not {self.result.type}")


@irdl_op_definition
class RemoteStore(IRDLOperation):
    """Writes an element of the shared memory of the block of this rank (`mapa`, `st.shared::cluster`)."""

    name = "gpu.remote_store"
    value = operand_def()
    target = operand_def(BufferType)
    indices = var_operand_def(I64)
    rank = operand_def(I64)
    traits = traits_def(MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value `,` $target `[` $indices `]` `of` $rank attr-dict `:` type($value) `,` type($target)"

    def verify_(self) -> None:
        check_cluster(self)
        check_indices(self.target.type, self.indices)
        assert isinstance(self.target.type, BufferType)
        if self.target.type.element_type != self.value.type:
            raise VerifyException(f"an element of {self.target.type} is not {self.value.type}")


@irdl_op_definition
class RemoteArrive(IRDLOperation):
    """This thread's arrival, where `where` holds, at a barrier (see `gpu.mbarrier_init`) of the block of this rank.

    `reads`: what the thread did before and others wait for is reading alone. Then nothing need be made visible to the
    cluster, which costs."""

    name = "gpu.remote_arrive"
    barriers = operand_def(BufferType)
    index = operand_def(I64)
    rank = operand_def(I64)
    where = opt_operand_def(eq(i1))
    reads = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$barriers `[` $index `]` `of` $rank (`where` $where^)? attr-dict `:` type($barriers)"

    def verify_(self) -> None:
        check_cluster(self)
        check_barriers(self.barriers.type)


ClusterOps: list[type[Operation]] = [ClusterArrive, ClusterWait, RemoteLoad, RemoteStore, RemoteArrive]
