"""Tensor maps: what the copy engine (TMA) must know of an array to move boxes of it, decided when a kernel is compiled.

The host completes a map with the array's address, extents and strides and passes it to the kernel by value. Limits
are those of `cuTensorMapEncodeTiled` (CUDA driver API) and of the tensor forms of `cp.async.bulk` (PTX ISA).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.layout import Coord, SharedLayout
from tileopt.dialects.target import TARGET_ATTRIBUTE, get_target
from tileopt.dialects.tile_types import BufferType, ViewType

MOST_AXES = 5
MOST_EXTENT = 256  # of a box, along each axis
UNIT = 16  # bytes that addresses, strides and a box's rows are multiples of
SWIZZLES = (32, 64, 128)  # bytes of a row
FARTHEST = 1 << 30  # extents are less; a coordinate that is more, or less than its negative, is as far outside


@dataclass(frozen=True, slots=True)
class TensorMap:
    """`parameter`: the array, an index among the kernel's arguments. `order`: its axes from slowest to fastest.
    `box`: extents of one copy, by axis. `swizzle`: bytes of a swizzled row, or 0."""

    parameter: int
    dtype: str
    order: Coord
    box: Coord
    swizzle: int


def copied_rows(shared: SharedLayout) -> int:
    """Elements of the fastest axis that one copy moves: a panel, or all."""
    return shared.panel if shared.panels > 1 else shared.shape[shared.order[-1]]


def swizzle_bytes(shared: SharedLayout, size: int) -> int | None:
    """The hardware's swizzle that the layout is, by the bytes of its rows; 0 for none; None where it is no such."""
    row = copied_rows(shared) * size
    if not shared.bits:
        return 0 if row % UNIT == 0 and not shared.pad else None
    same = (1 << shared.bits) * UNIT == row and (1 << shared.base) * size == UNIT and shared.shift == 3
    return row if same and row in SWIZZLES else None


def unfit(view: SSAValue, buffer: BufferType) -> str | None:
    """Why the copy engine cannot move tiles of the array to or from the buffer; None where it can."""
    assert isinstance(view.type, ViewType)
    return unfit_tile(view.type, buffer) or unfit_array(view, buffer.shared_layout.order)


def unfit_tile(type_: ViewType, buffer: BufferType) -> str | None:
    """Why no array of the type fits the buffer."""
    if not 1 <= type_.rank <= MOST_AXES:
        return f"the array has rank {type_.rank}, the copy engine knows 1 to {MOST_AXES}"
    shared, size = buffer.shared_layout, bit_width(type_.element_type) // 8
    sides = [n for axis, n in enumerate(shared.shape) if axis != shared.order[-1]]
    if max([copied_rows(shared), *sides]) > MOST_EXTENT:
        return f"a box has at most {MOST_EXTENT} elements a side"
    if swizzle_bytes(shared, size) is None:
        return "the tile's layout in shared memory is none of the hardware's"
    return None


def unfit_array(view: SSAValue, order: Coord) -> str | None:
    """Why no box of the array can be copied by the engine with the axes in this order, whatever its extents."""
    assert isinstance(view.type, ViewType)
    kernel = view.block.parent_op() if isinstance(view, BlockArgument) else None
    if not isinstance(kernel, KernelOp) or not isinstance(view, BlockArgument):
        return "the array is not a parameter of the kernel"
    contract, size = kernel.contract(view.index), bit_width(view.type.element_type) // 8
    if contract is None or not contract.regular:
        return "the array is not known to have extents below 2**30 and positive strides"
    if contract.unit_axis != order[-1]:
        return "the tile's fastest axis does not lie side by side in the array"
    if contract.align < UNIT:
        return f"the array's address is not known to be a multiple of {UNIT} bytes"
    for axis in order[:-1]:
        if contract.stride_div[axis] * size % UNIT:
            return f"the array's stride along axis {axis} is not known to be a multiple of {UNIT} bytes"
    return None


PATTERN_ROWS = 8  # of the widest swizzle: parts of a tile that begin with one are laid out like the whole


def parted_axis(shared: SharedLayout, parts: int) -> int | None:
    """The axis along which a tile can be copied in so many parts, each of whole patterns of the swizzle and side by
    side in each panel: the slowest one; None where it does not divide."""
    axis = next((a for a in shared.order[:-1] if shared.shape[a] > 1), None)
    return axis if axis is not None and shared.shape[axis] % (PATTERN_ROWS * parts) == 0 else None


def tensor_map(view: SSAValue, buffer: BufferType, parts: int = 1) -> TensorMap:
    """The map that copies between the two need, in so many parts; `unfit` must have said nothing."""
    assert isinstance(view, BlockArgument) and isinstance(view.type, ViewType)
    shared, element = buffer.shared_layout, view.type.element_type
    size = bit_width(element) // 8
    box = list(shared.shape)
    box[shared.order[-1]] = copied_rows(shared)
    if parts > 1:
        axis = parted_axis(shared, parts)
        assert axis is not None
        box[axis] //= parts
    swizzle = swizzle_bytes(shared, size)
    assert swizzle is not None
    return TensorMap(view.index, dtype_name(buffer), shared.order, tuple(box), swizzle)


def dtype_name(buffer: BufferType) -> str:
    """Our name of the buffer's element type."""
    from tileopt.dialects.dtypes import DTYPES

    names: dict[Attribute, str] = {d.ir: name for name, d in reversed(DTYPES.items())}
    return names[buffer.element_type]


def tensor_maps(kernel: KernelOp) -> tuple[TensorMap, ...]:
    """The maps that the kernel takes, in the order of its last parameters; each once. A CPU has no copy engine."""
    from tileopt.dialects import gpu_tma
    from tileopt.dialects.verifier import walk

    found: dict[TensorMap, None] = {}
    if _without_engine(kernel):
        return ()
    for op in walk(kernel):
        if isinstance(op, gpu_tma.TmaLoad | gpu_tma.TmaStore):
            buffer = op.buffer.type
            assert isinstance(buffer, BufferType)
            if unfit(op.view, buffer) is None:  # else its own place says so
                found[tensor_map(op.view, buffer, gpu_tma.parts_of(op))] = None
    return tuple(found)


def _without_engine(kernel: KernelOp) -> bool:
    top = kernel.parent_op()
    named = None if top is None else top.attributes.get(TARGET_ATTRIBUTE)
    return isinstance(named, StringAttr) and get_target(named.data).kind != "cuda"
