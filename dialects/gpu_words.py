"""The thread's side of the gpu dialect: copies and matrices in the registers of each lane, as PTX has them.

Where the ops on fragments (`gpu.ldmatrix`, `gpu.mma_sync`) know by their layouts what a register holds, these work on
words: i32 that hold the elements of a matrix as PTX packs them, lowest first. Indices name elements of a buffer or an
array; that they lie inside is checked before (`simt.check_index`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import integer, string
from tileopt.dialects.diagnostics import counted
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.gpu_mma_shapes import ACC_WORDS, MmaShape, mma_shape
from tileopt.dialects.tile_types import Access, BufferType, ViewType

ROW_BYTES = 16  # of one row of an 8x8 matrix of 16-bit elements
I32, I64 = eq(i32), eq(i64)


def check_indices(memory: Attribute, indices: Sequence[SSAValue]) -> None:
    """One index for each axis of a buffer or an array."""
    assert isinstance(memory, BufferType | ViewType)
    if memory.rank != len(indices):
        raise VerifyException(f"{counted(len(indices), 'index', 'indices')} for {memory} of rank {memory.rank}")


def check_run(buffer: Attribute, size: int, what: str) -> None:
    """That every aligned run of `size` bytes along the buffer's last axis lies side by side and aligned in memory."""
    assert isinstance(buffer, BufferType)
    width = bit_width(buffer.element_type) // 8
    shared, run = buffer.shared_layout, size // width
    if not buffer.rank or shared.order[-1] != buffer.rank - 1 or run > buffer.get_shape()[-1]:
        raise VerifyException(f"{what} needs {size} bytes side by side on the last axis of {buffer}")
    if any(n > 1 and s * width % size for s, n in zip(shared.strides[:-1], buffer.get_shape()[:-1], strict=True)):
        raise VerifyException(f"the rows of {buffer} do not begin at multiples of {size} bytes, as {what} needs")
    if (shared.bits and run > 1 << shared.base) or (shared.panels > 1 and run > shared.panel):
        raise VerifyException(f"the layout of {buffer} takes {size} bytes apart, which {what} moves together")


@irdl_op_definition
class CpAsyncElements(IRDLOperation):
    """Starts a `cp.async` of this thread: `count` elements (4, 8 or 16 bytes) from an array that nothing writes on to a
    buffer. Where an address is no multiple of so many bytes, the elements are copied one by one, at once.

    `aligned`: in all launches both addresses are such multiples, and the array's elements lie side by side (see
    infer-facts).
    """

    name = "gpu.cp_async_elements"
    target = operand_def(BufferType)
    target_indices = var_operand_def(I64)
    source = operand_def(ViewType)
    source_indices = var_operand_def(I64)
    count = prop_def(integer("count"))
    aligned = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$target `[` $target_indices `]` `,` $source `[` $source_indices `]` attr-dict `:` type($target) `,` "
        "type($source)"
    )

    @property
    def bytes(self) -> int:
        assert isinstance(self.target.type, BufferType)
        return self.count.value.data * bit_width(self.target.type.element_type) // 8

    def verify_(self) -> None:
        target, source = self.target.type, self.source.type
        assert isinstance(target, BufferType) and isinstance(source, ViewType)
        check_indices(target, self.target_indices)
        check_indices(source, self.source_indices)
        if target.element_type != source.element_type:
            raise VerifyException("array and buffer differ in element type")
        if source.access.data != Access.SHARED:
            raise VerifyException(f"cp.async reads an array that the kernel only reads, not {source}")
        if self.bytes not in (4, 8, 16):
            raise VerifyException(f"cp.async copies 4, 8 or 16 bytes, not {self.bytes}")
        check_run(target, self.bytes, "cp.async")


def check_matrices(buffer: Attribute, words: int, transposed: UnitAttr | None, what: str) -> None:
    if words not in (1, 2, 4):
        raise VerifyException(f"{what} moves 1, 2 or 4 matrices, not {words}")
    assert isinstance(buffer, BufferType)
    if bit_width(buffer.element_type) > 32 or (transposed is not None and bit_width(buffer.element_type) != 16):
        how = "transposes" if transposed is not None else "moves"
        raise VerifyException(f"{what} {how} no elements of {buffer.element_type}")
    check_run(buffer, ROW_BYTES, what)


@irdl_op_definition
class LdMatrixWords(IRDLOperation):
    """`ldmatrix`: 1, 2 or 4 matrices of 8 rows of 16 bytes. Lane 8q + r gives the place of row r of matrix q, which is
    a multiple of 16 bytes; word q of lane l is bytes 4(l % 4) to 4(l % 4) + 3 of row l // 4 of matrix q, or, of 16-bit
    elements `transposed`, the elements 2(l % 4) and 2(l % 4) + 1 of column l // 4."""

    name = "gpu.ldmatrix_words"
    source = operand_def(BufferType)
    indices = var_operand_def(I64)
    transposed = opt_prop_def(UnitAttr)
    words = var_result_def(I32)
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source `[` $indices `]` attr-dict `:` type($source) `->` type($words)"

    def verify_(self) -> None:
        check_indices(self.source.type, self.indices)
        check_matrices(self.source.type, len(self.words), self.transposed, "ldmatrix")


@irdl_op_definition
class StMatrixWords(IRDLOperation):
    """`stmatrix`: writes what `gpu.ldmatrix_words` reads."""

    name = "gpu.stmatrix_words"
    target = operand_def(BufferType)
    indices = var_operand_def(I64)
    words = var_operand_def(I32)
    transposed = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = "$target `[` $indices `]` `,` $words attr-dict `:` type($target) `,` type($words)"

    def verify_(self) -> None:
        check_indices(self.target.type, self.indices)
        check_matrices(self.target.type, len(self.words), self.transposed, "stmatrix")


@irdl_op_definition
class MmaWords(IRDLOperation):
    """`mma.sync`: `acc + a @ b`, row-major a and column-major b; see `gpu_mma_shapes` for what there is."""

    name = "gpu.mma_words"
    a = var_operand_def()
    b = var_operand_def()
    acc = var_operand_def()
    shape = prop_def(string("shape"))
    a_type = prop_def(string("a_type"))
    b_type = prop_def(string("b_type"))
    acc_type = prop_def(string("acc_type"))
    words = var_result_def()
    traits = traits_def(MemoryReadEffect())  # keeps its place: all lanes must meet here
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "`[` $a `]` `,` `[` $b `]` `,` `[` $acc `]` attr-dict `:` type($a) `by` type($b) `in` type($acc) `->` "
        "type($words)"
    )

    @property
    def row(self) -> MmaShape:
        return mma_shape(self.shape.data, self.a_type.data, self.b_type.data, self.acc_type.data)

    def verify_(self) -> None:
        word = f64 if self.a_type.data == "f64" else i32
        acc_word = ACC_WORDS.get(self.acc_type.data)
        counts = self.row.words(self.acc_type.data)
        parts: tuple[tuple[str, Sequence[SSAValue], Attribute | None], ...] = (
            ("a", self.a, word), ("b", self.b, word), ("acc", self.acc, acc_word), ("d", self.words, acc_word),
        )  # fmt: skip
        for (what, values, type_), count in zip(parts, (*counts, counts[2]), strict=True):
            if len(values) != count or any(v.type != type_ for v in values):
                found = ", ".join(str(v.type) for v in values)
                raise VerifyException(f"{what} of {self.shape.data} is {count} of {type_} in each lane, not ({found})")


@irdl_op_definition
class FenceProxyAsync(IRDLOperation):
    """`fence.proxy.async`: what this thread wrote to shared memory before is seen by units that reach it past the
    threads (bulk copies, `wgmma`, `tcgen05`), once threads have met behind it."""

    name = "gpu.fence_proxy_async"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


WordOps: list[type[Operation]] = [CpAsyncElements, LdMatrixWords, StMatrixWords, MmaWords, FenceProxyAsync]
