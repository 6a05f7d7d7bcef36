"""The `wgmma` family of the gpu dialect: products that a warpgroup (four warps) issues and waits for later."""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import check_product, integer, layout_attr, string
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.simt import fragment_layout
from tileopt.dialects.tile_types import BufferType

FRAGMENT = BaseAttr(VectorType)


@irdl_op_definition
class Wgmma(IRDLOperation):
    """Starts `acc + a @ b` with `wgmma.mma_async` as often as the tile needs, and closes the group. b is a buffer, a is
    a buffer or a fragment in `layout_a`; buffers have K side by side, those of 16 bits may lie the other way. The
    result may be used after a `gpu.wgmma_wait` only."""

    name = "gpu.wgmma"
    a = operand_def(FRAGMENT | BaseAttr(BufferType))
    b = operand_def(BufferType)
    acc = operand_def(FRAGMENT)
    atom = prop_def(string("atom"))
    layout_a = opt_prop_def(layout_attr("layout_a"))
    layout_acc = prop_def(layout_attr("layout_acc"))
    result = result_def(FRAGMENT)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `,` type($acc) `->` type($result)"

    @property
    def extents(self) -> tuple[int, int, int]:
        """(M, N, K) of the product."""
        assert isinstance(self.b.type, BufferType) and isinstance(self.acc.type, VectorType)
        k, n = self.b.type.get_shape()
        if isinstance(self.a.type, BufferType):
            return self.a.type.get_shape()[0], n, k
        warps = 1 << len(self.layout_acc.data[2])
        return self.acc.type.get_shape()[0] * 32 * warps // n, n, k

    def verify_(self) -> None:
        a, b = self.a.type, self.b.type
        assert isinstance(b, BufferType)
        if b.rank != 2 or (isinstance(a, BufferType) and (a.rank != 2 or a.get_shape()[1] != b.get_shape()[0])):
            raise VerifyException(f"{a} and {b} cannot be multiplied")
        if isinstance(self.acc.type, VectorType) and len(self.acc.type.get_shape()) != 1:
            raise VerifyException(f"a fragment is a vector of one axis, not {self.acc.type}")
        m, n, k = self.extents
        fragment_layout(self.layout_acc, (m, n), self.acc.type)
        if not isinstance(a, BufferType):
            if self.layout_a is None:
                raise VerifyException("a fragment as operand a needs layout_a")
            fragment_layout(self.layout_a, (m, k), a)
        element = a.element_type if isinstance(a, BufferType) else element_type(a)
        check_product(element, b.element_type, element_type(self.acc.type))
        if bit_width(element) != 16:
            for operand, k_axis, what in ((a, 1, "a"), (b, 0, "b")):
                if isinstance(operand, BufferType) and operand.shared_layout.order[-1] != k_axis:
                    raise VerifyException(f"{what} lies with K side by side unless its elements have 16 bits")
        if self.acc.type != self.result.type:
            raise VerifyException("accumulator and result differ in type")


@irdl_op_definition
class WgmmaWait(IRDLOperation):
    """Waits until at most `pending` of the warpgroup's latest groups are in flight, and gives the accumulator."""

    name = "gpu.wgmma_wait"
    acc = operand_def(FRAGMENT)
    pending = prop_def(integer("pending"))
    result = result_def(FRAGMENT)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$acc attr-dict `:` type($acc) `->` type($result)"

    def verify_(self) -> None:
        if self.acc.type != self.result.type:
            raise VerifyException("accumulator and result differ in type")
        if self.pending.value.data < 0:
            raise VerifyException(f"pending counts groups, it is not {self.pending.value.data}")


WgmmaOps: list[type[Operation]] = [Wgmma, WgmmaWait]
