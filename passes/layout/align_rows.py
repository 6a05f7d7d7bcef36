"""align-rows: tiles of rows begin where the hardware's wide accesses may, wherever the rows begin.

From: tile. To: the same. Invariant: what the kernel stores, up to the order in which reductions add.

A row whose length in bytes is no multiple of 16 begins `s` elements beyond an aligned address, with another `s` in each
row. Where a tile takes a whole row from its column 0 on, it may as well take the columns from -s on: position p then
holds column p - s, all that a thread moves lies at aligned addresses, and the array's ends are padding as before. The
offsets of such accesses become -s, found as the kernel runs (`simt.phase`), and what they move is `phased`: it goes by
vectors where the address turns out to be aligned (that of another array's row may not), else element by element.

Tiles that meet element by element must be shifted alike. So a group is all tiles that are tied to one another along
the axis, and it is shifted where all of its accesses begin at 0 along it, nothing in it knows positions, and every
array leaves room: its extent plus s is at most the tile's (tested as the kernel runs; s is 0 where it does not hold).
A reduction along the axis sees the same elements and as many paddings as before, in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, UnitAttr, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import simt, tile
from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.contracts import ContractAttr
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.layout import WARP_SIZE, pow2_divisor
from tileopt.dialects.target import Target, target_of
from tileopt.dialects.tile_types import tile_shape
from tileopt.passes.analysis.accesses import Access, shape_of
from tileopt.passes.building import LESS_OR_EQUAL, choose, compare, emit, number, subtract
from tileopt.passes.schedule.pipeline_rewrite import constant

Along = tuple[SSAValue, int]  # a tile, and an axis of it


@dataclass(frozen=True)
class AlignRows(ModulePass):
    name = "align-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                align_rows(kernel)


def align_rows(kernel: tile.Kernel) -> None:
    """Shifts the tiles of rows that are not aligned."""
    accesses = [op for op in kernel.walk() if isinstance(op, tile.Load | tile.Store)]
    if not accesses or any(isinstance(op, tile.Mma) for op in kernel.walk()):
        return
    target = target_of(kernel)
    if not target.is_gpu or target.unaligned_vectors:
        return
    seen: set[Access] = set()
    for access in accesses:
        width = _width(kernel, access, target)
        axis = _unit_axis(kernel, access)
        if access in seen or axis is None or _vector(access) >= width or shape_of(access)[axis] < WARP_SIZE * width:
            continue
        group = _collect(access, axis)
        if group is None:
            continue
        seen.update(group.accesses)
        place = _place(group, access)
        if place is not None:
            _shift(kernel, group, access, place, target)


# --- what is tied together -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Group:
    """Tiles that are shifted alike; `accesses`: with the axis along which each is."""

    accesses: dict[Access, int] = field(default_factory=dict)
    tiles: set[Along] = field(default_factory=set)


def _collect(access: Access, axis: int) -> _Group | None:
    """All that is tied to an access along an axis; None where something in it knows positions."""
    group = _Group()
    pending: list[Along] = [(_tile(access), axis)]
    while pending:
        along = pending.pop()
        if along in group.tiles:
            continue
        group.tiles.add(along)
        value, at = along
        owner = value.owner
        ops = [use.operation for use in value.uses]
        if isinstance(owner, Operation):
            ops.append(owner)
        else:
            loop = owner.parent_op()
            if not isinstance(loop, scf.ForOp):
                return None
            ops.append(loop)
        for op in ops:
            tied = _tied(op, value, at, group)
            if tied is None:
                return None
            pending += tied
    return group


def _tied(op: Operation, value: SSAValue, axis: int, group: _Group) -> list[Along] | None:
    """The tiles that `op` ties to one of its tiles along an axis; None where it may not be shifted."""
    match op:
        case tile.Load() | tile.Store() | tile.AtomicRmw():
            if constant(op.offsets[axis]) != 0 or group.accesses.setdefault(op, axis) != axis:
                return None
            checked = op.bounds is not None and op.bounds.outcome in (Outcome.CHECKED, Outcome.UNCHECKED)
            return None if checked else []
        case arith.ConstantOp() | tile.Splat():
            return []  # the same at every position
        case tile.Broadcast():
            other = op.source if value is op.result else op.result
            return [(other, axis)] if tile_shape(other.type)[axis] == tile_shape(value.type)[axis] else []
        case tile.Reshape():
            return _through_reshape(op, value, axis)
        case tile.Transpose():
            order = [int(a) for a in op.permutation.get_values()]
            return [(op.result, order.index(axis))] if value is op.source else [(op.source, order[axis])]
        case tile.Reduce():
            return _through_reduction(op, value, axis)
        case scf.ForOp() | scf.IfOp() | scf.YieldOp():
            return [(other, axis) for other in _carried(op, value)]
        case _ if op.name.startswith(("arith.", "math.")) and not op.regions:
            return [(v, axis) for v in (*op.operands, *op.results) if isinstance(v.type, TensorType)]
        case _:
            return None


def _through_reshape(op: tile.Reshape, value: SSAValue, axis: int) -> list[Along] | None:
    """Axes of extent 1 may come and go."""
    other = op.source if value is op.result else op.result
    mine, theirs = tile_shape(value.type), tile_shape(other.type)
    if [n for n in mine if n != 1] != [n for n in theirs if n != 1]:
        return None
    before = sum(n != 1 for n in mine[:axis])
    return [(other, [a for a, n in enumerate(theirs) if n != 1][before])]


def _through_reduction(op: tile.Reduce, value: SSAValue, axis: int) -> list[Along]:
    reduced = op.axis.value.data
    if value is op.result:
        return [(op.source, axis + (axis >= reduced))]
    return [] if axis == reduced else [(op.result, axis - (axis > reduced))]


def _carried(op: Operation, value: SSAValue) -> Iterator[SSAValue]:
    """The values that control flow makes one: what enters a loop, is carried, yielded, and left with."""
    parent = op.parent_op() if isinstance(op, scf.YieldOp) else op
    if isinstance(parent, scf.ForOp):
        body = parent.body.block
        assert body.last_op is not None
        rows = zip(parent.iter_args, body.args[1:], body.last_op.operands, parent.results, strict=True)
        for row in rows:
            if value in row:
                yield from row
    elif isinstance(parent, scf.IfOp):
        ends = [region.block.last_op for region in parent.regions if region.blocks]
        for index, result in enumerate(parent.results):
            row_ = [result, *(end.operands[index] for end in ends if end is not None)]
            if value in row_:
                yield from row_


# --- where and how much -----------------------------------------------------------------------------------------------


def _place(group: _Group, access: Access) -> Operation | None:
    """The op in front of which the shift is computed: it stands before the whole group, in a block whose every
    iteration has tiles of its own, where the access's offsets are known."""
    block = access.parent
    while block is not None:
        tops = [_ancestor(op, block) for op in group.accesses]
        if all(top is not None for top in tops):
            return _first(group, access, block, [top for top in tops if top is not None])
        parent = block.parent_op()
        block = None if parent is None or isinstance(parent, KernelOp) else parent.parent
    return None


def _first(group: _Group, access: Access, block: Block, tops: list[Operation]) -> Operation | None:
    first: Operation = next(op for op in block.ops if op in tops)
    for value, _ in group.tiles:
        inside = _ancestor(value.owner, block) if isinstance(value.owner, Operation) else _holder(value.owner, block)
        if inside is None and not _is_same_everywhere(value):
            return None  # carried into the block, or out of it: made with another shift
        if any(_ancestor(use.operation, block) in (None, block.last_op) for use in value.uses):
            return None
    for value in access.offsets:
        owner = value.owner
        top = _ancestor(owner, block) if isinstance(owner, Operation) else _holder(owner, block)
        if top is not None and (top is not owner or not top.is_before_in_block(first)):
            return None
    return first


def _is_same_everywhere(value: SSAValue) -> bool:
    return isinstance(value.owner, arith.ConstantOp | tile.Splat)


def _holder(inner: Block, block: Block) -> Operation | None:
    """The op of `block` in which another block lies."""
    parent = inner.parent_op()
    return None if inner is block or parent is None else _ancestor(parent, block)


def _ancestor(op: Operation | Block, block: Block) -> Operation | None:
    """The op of `block` that is `op` or holds it."""
    at: Operation | None = op if isinstance(op, Operation) else op.parent_op()
    while at is not None and at.parent is not block:
        at = at.parent_op()
    return at


def _shift(kernel: tile.Kernel, group: _Group, access: Access, at: Operation, target: Target) -> None:
    """Moves the accesses of a group by the phase of one of them."""
    whole: dict[str, IntegerAttr] = {"bytes": IntegerAttr(target.vector_bytes, i64)}
    rows = _rows(access, group.accesses[access])
    phase = emit(at, simt.Phase, [access.view, *access.offsets], [i64], whole)
    shift = phase
    done: set[tuple[SSAValue, int]] = set()
    for other, axis in group.accesses.items():
        if (other.view, axis) not in done:
            done.add((other.view, axis))
            extent = emit(at, tile.Dim, [other.view], [i64], {"axis": IntegerAttr(axis, i64)})
            room = subtract(at, number(at, shape_of(other)[axis]), extent)
            shift = choose(at, compare(at, LESS_OR_EQUAL, phase, room), shift, number(at, 0))
    begin = subtract(at, number(at, 0), shift)
    for other, axis in group.accesses.items():
        first = len(other.operands) - len(other.offsets)
        other.operands[first + axis] = begin
        if other.bounds is not None:
            axes = tuple(sorted({*other.bounds.axes, axis}))
            other.bounds = BoundsAttr((Outcome.MASKED, axes, other.bounds.reason))
        if axis == _unit_axis(kernel, other):
            # Of another array only a row of the same number is likely to begin alike.
            alike = not isinstance(other, tile.AtomicRmw) and _rows(other, axis) == rows
            width = _width(kernel, other, target) if alike else 1
            other.vector = IntegerAttr(width, i64)
            if isinstance(other, tile.Load | tile.Store) and width > 1:
                other.phased = UnitAttr()


def _rows(access: Access, axis: int) -> list[SSAValue]:
    """Where an access begins along its other axes."""
    return [offset for at, offset in enumerate(access.offsets) if at != axis]


def _tile(access: Access) -> SSAValue:
    return access.result if isinstance(access, tile.Load) else access.value


def _vector(access: Access) -> int:
    return 1 if access.vector is None else access.vector.value.data


def _contract(kernel: tile.Kernel, access: Access) -> ContractAttr | None:
    """What the host promises of the array, if it is a parameter."""
    arguments = kernel.body.block.args
    return next((kernel.contract(a.index) for a in arguments if a is access.view), None)


def _unit_axis(kernel: tile.Kernel, access: Access) -> int | None:
    contract = _contract(kernel, access)
    return None if contract is None else contract.unit_axis


def _width(kernel: tile.Kernel, access: Access, target: Target) -> int:
    """Elements that may move as one if the tile's first one is aligned: all rows of the tile are then, too."""
    contract, shape = _contract(kernel, access), shape_of(access)
    if contract is None or contract.unit_axis is None:
        return 1
    size = max(1, bit_width(access.view.type.element_type) // 8)  # type: ignore[attr-defined]
    width = min(max(1, target.vector_bytes // size), pow2_divisor(shape[contract.unit_axis]))
    for axis, extent in enumerate(shape):
        if axis != contract.unit_axis and extent > 1:
            width = min(width, contract.stride_div[axis])
    return width
