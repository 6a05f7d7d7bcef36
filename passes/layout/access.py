"""What layouts should know about global memory: the order of an array's axes and the coalesced layout of an access."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, SSAValue

from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.layout import Coord, Layout, coalesced
from tileopt.dialects.target import Target
from tileopt.dialects.tile_types import ViewType


def unit_axis(view: SSAValue) -> int | None:
    """The axis of the array whose stride is known to be one element."""
    if isinstance(view, BlockArgument):
        kernel = view.block.parent_op()
        if isinstance(kernel, KernelOp):
            contract = kernel.contract(view.index)
            if contract is not None:
                return contract.unit_axis
    return None


def memory_order(view: SSAValue) -> Coord:
    """The array's axes from slowest to fastest: the unit axis last, the others as they stand."""
    assert isinstance(view.type, ViewType)
    axes = list(range(view.type.rank))
    fast = unit_axis(view)
    if fast is not None:
        axes.remove(fast)
        axes.append(fast)
    return tuple(axes)


def access_layout(view: SSAValue, shape: Coord, vector: IntegerAttr | None, target: Target, num_warps: int) -> Layout:
    """The coalesced layout for a tile of `shape`; `vector` is what `infer-facts` proved (1 where it did not run)."""
    assert isinstance(view.type, ViewType)
    widest = max(1, target.vector_bytes * 8 // bit_width(view.type.element_type))
    proved = widest if target.unaligned_vectors else 1 if vector is None else vector.value.data
    return coalesced(shape, memory_order(view), max(1, min(widest, proved)), num_warps)
