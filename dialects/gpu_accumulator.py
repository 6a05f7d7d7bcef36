"""Accumulators of tiles in tensor memory: what the tile track makes of `tcgen05` (see `gpu_tensor`).

An accumulator of M x N elements of 32 bits takes N columns of all 128 lanes for every 128 rows: row i lies in lane
i mod 128 of columns (i / 128) N to (i / 128) N + N - 1. Fragments have a row a lane: lane l of the warps 4 g + w holds
row 32 w + l of the group of 128 rows, or the part of its columns, that the further bits of the warp's number name.
"""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr, VectorType, i32
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

from tileopt.dialects.checks import check_product, indices, integer, layout_attr, string
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.effects import AllocatesResult
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.gpu_scopes import WARPGROUP, check_threads
from tileopt.dialects.gpu_tensor import COLUMNS, LANES
from tileopt.dialects.layout import LANE_BITS, Layout
from tileopt.dialects.simt import fragment_layout
from tileopt.dialects.tile_types import BufferType

I32, FRAGMENT = eq(i32), BaseAttr(VectorType)


@irdl_op_definition
class Accumulator(IRDLOperation):
    """Columns of tensor memory for one accumulator. `start`: the first one, counted from `base`, which is where the
    block's columns begin."""

    name = "gpu.accumulator"
    base = opt_operand_def(I32)
    columns = prop_def(integer("columns"))
    start = opt_prop_def(integer("start"))
    result = result_def(I32)
    traits = traits_def(AllocatesResult())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "(`at` $base^)? attr-dict"

    def verify_(self) -> None:
        columns, start = self.columns.value.data, 0 if self.start is None else self.start.value.data
        if columns < 1 or start < 0 or start + columns > COLUMNS:
            raise VerifyException(f"tensor memory has {COLUMNS} columns, not {columns} from {start} on")
        if (self.base is None) is not (self.start is None):
            raise VerifyException("an accumulator's place is both a base and a start")


def columns_of(m: int, n: int) -> int:
    """The columns that an accumulator of m x n takes."""
    return m // LANES * n


def check_rows(layout: Layout) -> None:
    """The layout has a row a lane, as the lanes of tensor memory are a warp's."""
    rows = tuple((1 << bit, 0) for bit in range(LANE_BITS + 2))
    if layout.lanes + layout.warps[:2] != rows or any(basis[0] % LANES for basis in (*layout.regs, *layout.warps[2:])):
        raise VerifyException("a lane of tensor memory is a row, and each warp of four reaches 32 of them")


def _fragment(layout: LayoutAttr, shape: tuple[int, ...], fragment: VectorType) -> None:
    over = fragment_layout(layout, shape, fragment)
    if len(shape) != 2 or shape[0] % LANES or over.has_phantoms:
        raise VerifyException(f"an accumulator has rows by {LANES} and no others, not {list(shape)}")
    if bit_width(element_type(fragment)) != 32:
        raise VerifyException(f"an accumulator's elements have 32 bits, not {element_type(fragment)}")
    check_rows(over)


class _Moved(IRDLOperation):
    layout = prop_def(layout_attr("layout"))
    shape = prop_def(indices("shape"))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.shape.get_values())


@irdl_op_definition
class AccumulatorStore(_Moved):
    """`tcgen05.st`: all threads write their parts of a tile, and wait until that is done."""

    name = "gpu.accumulator_store"
    value = operand_def(FRAGMENT)
    accumulator = operand_def(I32)
    assembly_format = "$value `,` $accumulator attr-dict `:` type($value)"

    def verify_(self) -> None:
        check_threads(self, WARPGROUP)
        assert isinstance(self.value.type, VectorType)
        _fragment(self.layout, self.extents, self.value.type)


@irdl_op_definition
class AccumulatorLoad(_Moved):
    """`tcgen05.ld`: all threads read their parts of a tile. Products must have been waited for
    (`gpu.accumulator_wait`)."""

    name = "gpu.accumulator_load"
    accumulator = operand_def(I32)
    result = result_def(FRAGMENT)
    assembly_format = "$accumulator attr-dict `:` type($result)"

    def verify_(self) -> None:
        check_threads(self, WARPGROUP)
        assert isinstance(self.result.type, VectorType)
        _fragment(self.layout, self.extents, self.result.type)


@irdl_op_definition
class Accumulate(IRDLOperation):
    """The block's first thread starts d + a @ b, or a @ b (`fresh`), with `tcgen05.mma` as often as the tile needs.

    a is M x K, b is K x N, in shared memory with K side by side; those of 16 bits may lie the other way. What shared
    memory holds may change, and d be read, after a `gpu.accumulator_wait` only; further products may begin before."""

    name = "gpu.accumulate"
    a = operand_def(BufferType)
    b = operand_def(BufferType)
    accumulator = operand_def(I32)
    atom = prop_def(string("atom"))
    fresh = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b `,` $accumulator attr-dict `:` type($a) `,` type($b)"

    @property
    def operands_types(self) -> tuple[BufferType, BufferType]:
        assert isinstance(self.a.type, BufferType) and isinstance(self.b.type, BufferType)
        return self.a.type, self.b.type

    @property
    def extents(self) -> tuple[int, int, int]:
        """(M, N, K) of the product."""
        a, b = self.operands_types
        return a.get_shape()[0], b.get_shape()[1], a.get_shape()[1]

    def verify_(self) -> None:
        a, b = self.operands_types
        if a.rank != 2 or b.rank != 2 or a.get_shape()[1] != b.get_shape()[0] or a.get_shape()[0] % LANES:
            raise VerifyException(f"{a} and {b} cannot be multiplied into rows by {LANES}")
        check_product(a.element_type, b.element_type, b.element_type)
        if bit_width(a.element_type) != 16:
            for type_, k_axis, what in ((a, 1, "a"), (b, 0, "b")):
                if type_.shared_layout.order[-1] != k_axis:
                    raise VerifyException(f"{what} lies with K side by side unless its elements have 16 bits")


@irdl_op_definition
class AccumulatorWait(IRDLOperation):
    """All threads wait for all products that the block has started."""

    name = "gpu.accumulator_wait"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


AccumulatorOps: list[type[Operation]] = [
    Accumulator, AccumulatorStore, AccumulatorLoad, Accumulate, AccumulatorWait,
]  # fmt: skip
