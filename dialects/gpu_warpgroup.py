"""`wgmma` on words: products that the four warps of a warpgroup start together, as each thread sees them.

Where `gpu.wgmma` works on fragments, these take the registers of each thread: the accumulator of 64 x N is N / 2 words,
and a in registers four words for each 32 bytes of K. What a register holds is what PTX says.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr, f32, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import integer, string
from tileopt.dialects.gpu_described import BYTES, FLOATS, INTEGERS, check_operand, depth
from tileopt.dialects.gpu_scopes import WARPGROUP, check_threads
from tileopt.dialects.tile_types import BufferType

ROWS = 64
MOST_COLUMNS = 256
A_WORDS = 4  # registers of a for one instruction


def check_words(words: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
    """An accumulator's words go in and come out, all f32 or all i32."""
    types = {v.type for v in words}
    if [v.type for v in words] != [v.type for v in results] or len(types) != 1 or not types <= {f32, i32}:
        raise VerifyException("an accumulator's words are all f32 or all i32, and its results the same")


@irdl_op_definition
class WgmmaWords(IRDLOperation):
    """Starts `acc + a @ b` and closes the group: a is 64 x K, b is N x K (K x N where `trans_b`), acc 64 x N over the
    warpgroup. a lies in shared memory (K x 64 where `trans_a`) or in `a_words`. The results may be used after a
    `gpu.wgmma_wait_words` only."""

    name = "gpu.wgmma_words"
    a = opt_operand_def(BufferType)
    a_words = var_operand_def(eq(i32))
    b = operand_def(BufferType)
    acc = var_operand_def()
    a_type = prop_def(string("a_type"))
    b_type = prop_def(string("b_type"))
    trans_a = opt_prop_def(UnitAttr)
    trans_b = opt_prop_def(UnitAttr)
    words = var_result_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "(`shared` $a^)? `[` $a_words `]` `,` $b `,` `[` $acc `]` attr-dict `:` (type($a)^ `,`)? "
        "`[` type($a_words) `]` `,` type($b) `,` `[` type($acc) `]` `->` type($words)"
    )

    @property
    def extents(self) -> tuple[int, int]:
        """(N, K) of the product."""
        assert isinstance(self.b.type, BufferType)
        first, second = self.b.type.get_shape()
        return (second, first) if self.trans_b is not None else (first, second)

    def verify_(self) -> None:
        a_type, b_type = self.a_type.data, self.b_type.data
        check_threads(self, WARPGROUP)
        pairs = {(t, t) for t in FLOATS} | {(x, y) for kinds in (BYTES, INTEGERS) for x in kinds for y in kinds}
        if (a_type, b_type) not in pairs:
            raise VerifyException(f"wgmma does not multiply {a_type} by {b_type}")
        n, k = check_operand(self.b.type, b_type, self.trans_b is not None, "operand b")
        if n > MOST_COLUMNS or (b_type in INTEGERS and n > 24 and n % 16):
            raise VerifyException(f"wgmma has no N = {n}: multiples of 8 up to 256, of integers of 16 from 32 on")
        if self.a is not None:
            m, other = check_operand(self.a.type, a_type, self.trans_a is not None, "operand a")
            if self.a_words or m != ROWS or other != k:
                raise VerifyException(f"operand a is {ROWS} x {k}, in shared memory or in registers")
        elif len(self.a_words) != A_WORDS * k // depth(a_type) or self.trans_a is not None:
            raise VerifyException(f"operand a of {ROWS} x {k} is {A_WORDS * k // depth(a_type)} words in each thread")
        check_words(self.acc, self.words)
        wanted = i32 if b_type in INTEGERS else f32
        if len(self.acc) != n // 2 or self.acc[0].type != wanted:
            raise VerifyException(f"the accumulator of {ROWS} x {n} is {n // 2} words of {wanted} in each thread")


@irdl_op_definition
class WgmmaWaitWords(IRDLOperation):
    """Waits until at most `pending` of the warpgroup's latest groups are in flight, and gives an accumulator."""

    name = "gpu.wgmma_wait_words"
    acc = var_operand_def()
    pending = prop_def(integer("pending"))
    words = var_result_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$acc attr-dict `:` type($acc) `->` type($words)"

    def verify_(self) -> None:
        check_threads(self, WARPGROUP)
        check_words(self.acc, self.words)
        if self.pending.value.data < 0:
            raise VerifyException(f"pending counts groups, it is not {self.pending.value.data}")


WarpgroupOps: list[type[Operation]] = [WgmmaWords, WgmmaWaitWords]
WHOLE_BUFFERS = (WgmmaWords,)
