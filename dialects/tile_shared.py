"""Tiles from and to arrays in shared memory that threads write and read as well: where a SIMT kernel uses tiles."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def

from tileopt.dialects.checks import check_same_tile
from tileopt.dialects.effects import ReadsElement, WritesElement
from tileopt.dialects.tile_types import BufferType


@irdl_op_definition
class LoadBuffer(IRDLOperation):
    """The tile that a buffer holds now. All threads of the block take part; what they wrote before is seen."""

    name = "tile.load_buffer"
    mem = operand_def(BufferType)
    result = result_def(TensorType)
    traits = traits_def(ReadsElement())
    assembly_format = "$mem attr-dict `:` type($mem) `->` type($result)"

    def verify_(self) -> None:
        check_same_tile(self.mem.type, self.result.type)


@irdl_op_definition
class StoreBuffer(IRDLOperation):
    """Writes the tile to a buffer. All threads of the block take part; what they do afterwards sees it."""

    name = "tile.store_buffer"
    value = operand_def(TensorType)
    mem = operand_def(BufferType)
    traits = traits_def(WritesElement())
    assembly_format = "$value `,` $mem attr-dict `:` type($value) `,` type($mem)"

    def verify_(self) -> None:
        check_same_tile(self.value.type, self.mem.type)


SharedOps: list[type[Operation]] = [LoadBuffer, StoreBuffer]
