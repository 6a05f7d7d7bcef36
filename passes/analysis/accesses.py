"""What the facts say about one access to an array: is its tile inside, and which of its elements go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tileopt.dialects import tile
from tileopt.dialects.contracts import ContractAttr
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.tile_types import ViewType, tile_shape
from tileopt.passes.analysis.affine import Expr
from tileopt.passes.analysis.facts import KernelFacts
from tileopt.passes.analysis.prover import Prover

Access: TypeAlias = tile.Load | tile.Store | tile.AtomicRmw


BEYOND_BUDGET = 40  # goals looked at to prove a tile partly outside: where it is, it is plain


class Place(Enum):
    """Where a tile lies along one axis of its array, each time the access runs."""

    INSIDE = "inside"
    PARTLY_OUTSIDE = "partly outside"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Axis:
    """One axis of an access: the tile begins at `offset`, is `extent` long, the array `dim`."""

    index: int
    offset: Expr
    extent: int
    dim: Expr
    low: bool  # offset >= 0 is proved
    high: bool  # offset + extent <= dim is proved
    beyond: bool  # proved that some element is outside

    @property
    def place(self) -> Place:
        if self.low and self.high:
            return Place.INSIDE
        return Place.PARTLY_OUTSIDE if self.beyond else Place.UNKNOWN


def accesses(kernel: Operation) -> list[Access]:
    """The loads, stores and atomics of a tile kernel in program order."""
    return [op for op in kernel.walk() if isinstance(op, Access)]


def view_of(op: Access) -> tuple[SSAValue, ViewType]:
    view = op.view
    assert isinstance(view.type, ViewType)
    return view, view.type


def shape_of(op: Access) -> tuple[int, ...]:
    """Extents of the tile that `op` moves."""
    return tile_shape(op.result.type if isinstance(op, tile.Load) else op.value.type)


def axes(facts: KernelFacts, op: Access, prover: Prover | None = None) -> list[Axis]:
    """Each axis of an access with what is proved about it."""
    view, _ = view_of(op)
    prover = facts.scope(op).prover() if prover is None else prover
    found = []
    for index, (offset, extent) in enumerate(zip(op.offsets, shape_of(op), strict=True)):
        begin, dim = facts.of(offset).expr, facts.dim(view, index)
        low = facts.of(offset).range.lo >= 0 or prover.nonneg(begin)
        high = prover.nonneg(dim - begin - extent)
        beyond = not (low and high) and (
            prover.nonneg(begin + extent - dim - 1, BEYOND_BUDGET) or prover.nonneg(-begin - 1, BEYOND_BUDGET)
        )
        found.append(Axis(index, begin, extent, dim, low, high, beyond))
    return found


def contract_of(facts: KernelFacts, view: SSAValue) -> ContractAttr | None:
    """What the host promises about the array, if the view is a parameter."""
    block = facts.kernel.body.block
    for index, argument in enumerate(block.args):
        if argument is view:
            return facts.kernel.contract(index)
    return None


def name_of(facts: KernelFacts, view: SSAValue) -> str:
    """What messages call the array."""
    for index, argument in enumerate(facts.kernel.body.block.args):
        if argument is view:
            return facts.kernel.arg_name(index)
    return view.name_hint or "the array"


def inside(facts: KernelFacts, op: Access) -> set[int]:
    """The axes along which the tile is known to be inside: by the access's `bounds`, or else proved here."""
    if op.bounds is not None:
        return set(range(len(op.offsets))) - set(op.bounds.axes)
    return {axis.index for axis in axes(facts, op) if axis.place is Place.INSIDE}


def vector_of(facts: KernelFacts, op: Access, within: set[int], vector_bytes: int) -> int:
    """The largest power of two v such that groups of v elements along the unit axis may move as one.

    Sound if for each group [offset + k*v, offset + (k+1)*v) of the tile, at any coordinates on the other axes:
    1. The address of its first element is a multiple of v elements. The address is base + sum(coordinate * stride);
       each part is a multiple of v: the base by the contract's alignment; along the unit axis (stride 1) offset and
       k*v; along another axis, where every coordinate occurs, its stride, or for a tile of extent 1 stride * offset.
    2. Its elements are inside or outside together: the tile is inside along that axis (`within`), or the group cannot
       straddle an end: offset and dim are multiples of v, and 0 is one.
    3. v divides the tile's extent, so that groups cover the tile.
    """
    view, type_ = view_of(op)
    contract = contract_of(facts, view)
    if contract is None or contract.unit_axis is None:
        return 1
    unit, size = contract.unit_axis, bit_width(type_.element_type) // 8
    extents = shape_of(op)
    limits = [max(1, vector_bytes // size), max(1, contract.align // size), extents[unit]]
    for axis, (offset, extent) in enumerate(zip(op.offsets, extents, strict=True)):
        divisor, dim = facts.of(offset).divisor, facts.dim(view, axis)
        if axis == unit:
            limits.append(divisor)
            if axis not in within:
                limits.append(dim.content() or divisor)
        elif dim.value != 1:
            stride = contract.stride_div[axis]
            limits.append(stride * divisor if extent == 1 else stride)
    vector = 1
    while all(limit % (2 * vector) == 0 for limit in limits):
        vector *= 2
    return vector


def is_aligned(facts: KernelFacts, view: SSAValue, indices: Sequence[SSAValue], bytes_: int) -> bool:
    """Whether the elements of an array from these indices on along the last axis lie side by side, and the first of
    them at a multiple of so many bytes: the base is one by the contract, and on each axis index times stride."""
    contract = contract_of(facts, view)
    if contract is None or contract.unit_axis != len(indices) - 1 or contract.align % bytes_:
        return False
    assert isinstance(view.type, ViewType)
    size = bit_width(view.type.element_type) // 8
    divisors = zip(indices, contract.stride_div, strict=True)
    return all(facts.of(index).divisor * divisor * size % bytes_ == 0 for index, divisor in divisors)
