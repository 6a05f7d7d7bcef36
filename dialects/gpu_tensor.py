"""`tcgen05`: products into tensor memory, which has 128 lanes of 512 columns of 32 bits for a multiprocessor.

An address in tensor memory is an i32: the lane in the upper half, the column in the lower. Warp w of a warpgroup
reaches lanes 32w to 32w + 31. The accumulator of a product of 128 x N is N columns of all lanes: row i in lane i.
"""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr, i1, i32, i64
from xdsl.ir import Operation
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
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import integer, is_power_of_two, string
from tileopt.dialects.gpu_described import BYTES, check_operand
from tileopt.dialects.gpu_mbarrier import check_barriers
from tileopt.dialects.gpu_scopes import WARPGROUP, check_threads
from tileopt.dialects.gpu_words import check_indices
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.tile_types import BufferType

LANES, COLUMNS, LEAST_COLUMNS = 128, 512, 32
MOST_WORDS = 128  # of one load or store
I32, I64 = eq(i32), eq(i64)


class _Tensor(IRDLOperation):
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)


def _check_columns(columns: int) -> None:
    if not is_power_of_two(columns) or not LEAST_COLUMNS <= columns <= COLUMNS:
        raise VerifyException(f"tensor memory comes in 32, 64, 128, 256 or 512 columns, not in {columns}")


@irdl_op_definition
class Tcgen05Alloc(_Tensor):
    """`tcgen05.alloc`: a warp takes columns of tensor memory, and waits until there are so many; their address is
    written to an element of 32 bits in shared memory. Only columns that are given back are free again."""

    name = "gpu.tcgen05_alloc"
    target = operand_def(BufferType)
    indices = var_operand_def(I64)
    columns = prop_def(integer("columns"))
    assembly_format = "$target `[` $indices `]` attr-dict `:` type($target)"

    def verify_(self) -> None:
        check_threads(self, WARP_SIZE)
        check_indices(self.target.type, self.indices)
        assert isinstance(self.target.type, BufferType)
        if self.target.type.element_type != i32:
            raise VerifyException(f"an address in tensor memory is an i32, and lies in no {self.target.type}")
        _check_columns(self.columns.value.data)


@irdl_op_definition
class Tcgen05Relinquish(_Tensor):
    """`tcgen05.relinquish_alloc_permit`: a warp says that its block takes no more columns, so that others may."""

    name = "gpu.tcgen05_relinquish"
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        check_threads(self, WARP_SIZE)


@irdl_op_definition
class Tcgen05Dealloc(_Tensor):
    """`tcgen05.dealloc`: a warp gives back columns that `gpu.tcgen05_alloc` gave."""

    name = "gpu.tcgen05_dealloc"
    address = operand_def(I32)
    columns = prop_def(integer("columns"))
    assembly_format = "$address attr-dict"

    def verify_(self) -> None:
        check_threads(self, WARP_SIZE)
        _check_columns(self.columns.value.data)


@irdl_op_definition
class Tcgen05Mma(_Tensor):
    """`tcgen05.mma` by one thread, `kind::f16` or `kind::f8f6f4`: starts d + a @ b, or a @ b where not `accumulate`.

    a is 128 x K, b is N x K (or K x 128 and K x N where `trans_a`, `trans_b`), both in shared memory; d is 128 x N of
    f32 in tensor memory. It is done when what `gpu.tcgen05_commit` names after it says so."""

    name = "gpu.tcgen05_mma"
    d = operand_def(I32)
    accumulate = operand_def(eq(i1))
    a = operand_def(BufferType)
    b = operand_def(BufferType)
    a_type = prop_def(string("a_type"))
    b_type = prop_def(string("b_type"))
    trans_a = opt_prop_def(UnitAttr)
    trans_b = opt_prop_def(UnitAttr)
    assembly_format = "$d `,` $a `,` $b `accumulate` $accumulate attr-dict `:` type($a) `,` type($b)"

    def verify_(self) -> None:
        a_type, b_type = self.a_type.data, self.b_type.data
        if (a_type, b_type) not in {("f16", "f16"), ("bf16", "bf16")} and not (a_type in BYTES and b_type in BYTES):
            raise VerifyException(f"tcgen05.mma does not multiply {a_type} by {b_type}")
        m, k = check_operand(self.a.type, a_type, self.trans_a is not None, "operand a")
        n, other = check_operand(self.b.type, b_type, self.trans_b is not None, "operand b")
        if m != LANES or k != other or n % 16 or n > 256:
            raise VerifyException(
                f"tcgen05.mma has M = 128, and N of 16 to 256 by 16, not {m} x {n} over {k} and {other}"
            )


@irdl_op_definition
class Tcgen05Commit(_Tensor):
    """`tcgen05.commit`: the barrier in shared memory gets an arrival when this thread's products so far are done."""

    name = "gpu.tcgen05_commit"
    barriers = operand_def(BufferType)
    index = operand_def(I64)
    assembly_format = "$barriers `[` $index `]` attr-dict `:` type($barriers)"

    def verify_(self) -> None:
        check_barriers(self.barriers.type)


def _check_words(count: int) -> None:
    if not is_power_of_two(count) or count > MOST_WORDS:
        raise VerifyException(f"tcgen05 moves a power of two up to {MOST_WORDS} words, not {count}")


@irdl_op_definition
class Tcgen05Load(_Tensor):
    """`tcgen05.ld.32x32b` by a warp: word r of a lane is column r from the address on, of the lane's own lane of tensor
    memory. May be used after a `gpu.tcgen05_wait` of loads only."""

    name = "gpu.tcgen05_ld"
    address = operand_def(I32)
    words = var_result_def(I32)
    assembly_format = "$address attr-dict `:` type($words)"

    def verify_(self) -> None:
        check_threads(self, WARPGROUP)
        _check_words(len(self.words))


@irdl_op_definition
class Tcgen05Store(_Tensor):
    """`tcgen05.st.32x32b` by a warp: writes what `gpu.tcgen05_ld` reads."""

    name = "gpu.tcgen05_st"
    address = operand_def(I32)
    words = var_operand_def(I32)
    assembly_format = "$address `,` $words attr-dict `:` type($words)"

    def verify_(self) -> None:
        check_threads(self, WARPGROUP)
        _check_words(len(self.words))


@irdl_op_definition
class Tcgen05Wait(_Tensor):
    """`tcgen05.wait`: the warp's loads (`ld`) or stores (`st`) are done."""

    name = "gpu.tcgen05_wait"
    kind = prop_def(string("kind"))
    acc = var_operand_def(I32)
    words = var_result_def(I32)
    assembly_format = "$acc attr-dict `:` type($acc) `->` type($words)"

    def verify_(self) -> None:
        check_threads(self, WARP_SIZE)
        if self.kind.data not in ("ld", "st"):
            raise VerifyException(f"tcgen05 waits for ld or st, not for '{self.kind.data}'")
        if len(self.acc) != len(self.words) or (self.acc and self.kind.data == "st"):
            raise VerifyException("what a load gave passes through its wait, and through nothing else")


@irdl_op_definition
class Tcgen05Fence(_Tensor):
    """`tcgen05.fence`: orders tcgen05 ops `before` or `after` the threads meet."""

    name = "gpu.tcgen05_fence"
    kind = prop_def(string("kind"))
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if self.kind.data not in ("before", "after"):
            raise VerifyException(f"a fence of tcgen05 stands before or after a meeting, not '{self.kind.data}'")


TensorOps: list[type[Operation]] = [
    Tcgen05Alloc, Tcgen05Relinquish, Tcgen05Dealloc, Tcgen05Mma, Tcgen05Commit, Tcgen05Load, Tcgen05Store, Tcgen05Wait,
    Tcgen05Fence,
]  # fmt: skip
WHOLE_BUFFERS = (Tcgen05Mma,)
