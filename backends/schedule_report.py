"""The schedule that the passes chose, read off the lowered kernel: roles, channels, buffers, bank conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from tileopt.dialects import gpu, gpu_accumulator, gpu_mbarrier, gpu_tensor, gpu_tma, gpu_wgmma, simt
from tileopt.dialects.diagnostics import location_of
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.kernel import EARLY_LOADS, NUM_CTAS, PERSISTENT, cluster_blocks
from tileopt.dialects.layout import WARP_SIZE, Layout, SharedLayout, pow2_divisor
from tileopt.dialects.layout_banks import Wavefronts, bank_conflicts, matrix_access, shared_vector, wavefronts
from tileopt.dialects.target import Feature, Scope
from tileopt.dialects.tile_types import BufferType
from tileopt.passes.lowering.lower_roles import ROLE

if TYPE_CHECKING:
    from tileopt.dialects.kernel import KernelOp
    from tileopt.dialects.target import Target

MATRIX_ROWS = 8  # of a matrix of ldmatrix, each 16 bytes


def schedule(kernel: KernelOp, target: Target, stages: int | None = None) -> dict[str, object]:
    """`roles`, `persistent`, `cluster`, `channels`, `buffers`, `notes`: see docs/runtime.md. `stages`: the hint."""
    buffers = [_buffer(kernel, op, target) for op in kernel.walk() if isinstance(op, simt.AllocShared)]
    found = [b for b in buffers if not b.is_barriers]
    return {
        "roles": _roles(kernel),
        "persistent": kernel.integer(PERSISTENT) or 0,
        "cluster": (cluster := cluster_blocks(kernel)),
        "channels": (channels := _channels(found)),
        "buffers": [b.report() for b in found],
        "notes": [
            *_stage_notes(kernel, channels, target, stages),
            *_cluster_notes(kernel, cluster),
            *_product_notes(kernel, target),
        ],
    }


# ---- roles ----


def _roles(kernel: KernelOp) -> dict[str, dict[str, int]]:
    """Warps and registers of each role; empty where all warps do the same."""
    for op in kernel.walk():
        consumers = op.attributes.get(ROLE)
        if isinstance(op, scf.IfOp) and isinstance(consumers, IntegerAttr):
            threads = kernel.integer(simt.THREADS) or WARP_SIZE
            parts = (consumers.value.data, threads - consumers.value.data)
            names = ("consumer", "producer")
            return {
                name: {"warps": count // WARP_SIZE, **_registers(block)}
                for name, count, block in zip(names, parts, (op.true_region.block, op.false_region.block), strict=True)
            }
    return {}


def _registers(block: Block) -> dict[str, int]:
    for op in block.ops:
        if isinstance(op, gpu_mbarrier.SetMaxRegisters):
            return {"registers": op.registers.value.data}
    return {}


# ---- buffers ----


@dataclass
class _Buffer:
    """One allocation of shared memory. `users`: what writes and reads it, with what else is needed of the op."""

    op: simt.AllocShared
    users: list[Operation]
    arrays: list[str]
    accesses: list[dict[str, Any]] = field(default_factory=list)

    @property
    def type(self) -> BufferType:
        assert isinstance(self.op.result.type, BufferType)
        return self.op.result.type

    @property
    def is_barriers(self) -> bool:
        return any(isinstance(user, gpu_mbarrier.MbarrierInit) for user in self.users)

    @property
    def slots(self) -> int:
        return self.op.slots.value.data if self.op.slots is not None else 1

    @property
    def slot_bytes(self) -> int:
        return self.type.shared_layout.size * _bytes(self.type)

    def report(self) -> dict[str, object]:
        return {
            "arrays": self.arrays,
            "shape": list(self.type.get_shape()),
            "dtype": str(self.type.element_type),
            "slots": self.slots,
            "bytes": self.slots * self.slot_bytes,
            "layout": layout_text(self.type.shared_layout, _bytes(self.type)),
            "used_by": sorted({_unit(user) for user in self.users}),
            "accesses": self.accesses,
        }


def _buffer(kernel: KernelOp, op: simt.AllocShared, target: Target) -> _Buffer:
    users = list(_users(op.result))
    views = [user.view for user in users if isinstance(user, gpu.CpAsync | gpu_tma.TmaLoad | gpu_tma.TmaStore)]
    names = {kernel.arg_name(view.index) for view in views if isinstance(view, BlockArgument)}
    found = _Buffer(op, users, sorted(names))
    if target.is_gpu and target.banked:
        found.accesses = _accesses(found)
    return found


def _users(value: SSAValue) -> Iterator[Operation]:
    """What uses a buffer, also by its slots and views."""
    for use in value.uses:
        if isinstance(use.operation, simt.Slot | simt.ViewBuffer):
            yield from _users(use.operation.result)
        else:
            yield use.operation


_UNITS: tuple[tuple[type[Operation], str], ...] = (
    (gpu_tma.TmaLoad, "TMA load"),
    (gpu_tma.TmaStore, "TMA store"),
    (gpu.CpAsync, "cp.async"),
    (gpu.LdMatrix, "ldmatrix"),
    (gpu_wgmma.Wgmma, "wgmma"),
    (gpu_tensor.Tcgen05Mma, "tcgen05.mma"),
    (gpu_accumulator.Accumulate, "tcgen05.mma"),
    (simt.SharedStore, "threads' stores"),
    (simt.SharedLoad, "threads' loads"),
)


def _unit(op: Operation) -> str:
    return next((name for kind, name in _UNITS if isinstance(op, kind)), op.name)


def layout_text(shared: SharedLayout, element_bytes: int) -> str:
    """A buffer's layout in words: the fastest axis, and its swizzle, padding and panels."""
    if not shared.order:
        return "one element"
    parts = [f"axis {shared.order[-1]} fastest"]
    if shared.bits:
        span = (1 << shared.bits + shared.base) * element_bytes
        parts.append(f"swizzle {shared.bits},{shared.base},{shared.shift} over {span} bytes")
    if shared.pad:
        parts.append(f"{shared.pad * element_bytes} bytes of padding a row")
    if shared.panels > 1:
        parts.append(f"{shared.panels} panels of {shared.panel} elements")
    return ", ".join(parts)


# ---- bank conflicts ----


def _accesses(buffer: _Buffer) -> list[dict[str, Any]]:
    """Each kind of access that warps make: its wavefronts for one warp and one tile, and how many are conflicts."""
    found: dict[tuple[str, int, int, int], dict[str, Any]] = {}
    seen: set[tuple[type, Attribute]] = set()
    for op in buffer.users:
        if not isinstance(op, gpu.CpAsync | gpu.LdMatrix | simt.SharedStore | simt.SharedLoad):
            continue
        operand = op.source if isinstance(op, gpu.LdMatrix | simt.SharedLoad) else op.target
        type_ = operand.type
        if (type(op), op.layout) in seen or not isinstance(type_, BufferType) or not _is_whole(type_, buffer.type):
            continue
        seen.add((type(op), op.layout))
        cost = _cost(op, type_)
        place = location_of(op)
        line = place.line if place is not None else 0
        key = (_unit(op), cost.actual, cost.ideal, line)
        found[key] = {"by": key[0], "line": line, "wavefronts": cost.actual, "conflicts": cost.excess}
    return list(found.values())


def _is_whole(type_: BufferType, buffer: BufferType) -> bool:
    """Whether a type is that of the buffer, or of the same seen with its axes in another order."""
    return type_.element_type == buffer.element_type and sorted(type_.get_shape()) == sorted(buffer.get_shape())


def _cost(op: gpu.CpAsync | gpu.LdMatrix | simt.SharedStore | simt.SharedLoad, type_: BufferType) -> Wavefronts:
    shared, size = type_.shared_layout, _bytes(type_)
    layout: Layout = op.layout.over(type_.get_shape())
    if isinstance(op, gpu.LdMatrix):
        one = wavefronts(matrix_access(shared.shape, shared.order, size), shared, size)
        count = layout.registers * WARP_SIZE // (MATRIX_ROWS * 16 // size)  # 8 rows of 16 bytes are one matrix
        return Wavefronts(one.actual * count, one.ideal * count)
    most = shared_vector(layout, shared, size)
    vector = min(most, pow2_divisor(op.vector.value.data)) if isinstance(op, gpu.CpAsync) else most
    return bank_conflicts(layout, shared, vector, size)


def _bytes(type_: BufferType) -> int:
    return max(1, bit_width(type_.element_type) // 8)


# ---- channels ----


def _channels(buffers: list[_Buffer]) -> list[dict[str, Any]]:
    """Rings of buffers that asynchronous copies fill, those together that one barrier or one group stands for."""
    groups: dict[object, list[tuple[_Buffer, str]]] = {}
    for buffer in buffers:
        copies = [user for user in buffer.users if isinstance(user, gpu.CpAsync | gpu_tma.TmaLoad)]
        if not copies:
            continue
        last = copies[-1]
        barriers = last.barriers if isinstance(last, gpu_tma.TmaLoad) else last.parent
        groups.setdefault(barriers, []).append((buffer, _unit(last)))
    return [
        {
            "arrays": sorted({name for buffer, _ in members for name in buffer.arrays}),
            "stages": min(buffer.slots for buffer, _ in members),
            "stage_bytes": sum(buffer.slot_bytes for buffer, _ in members),
            "by": members[0][1],
            "together": sorted({name for buffer, _ in members if _in_parts(buffer) for name in buffer.arrays}),
        }
        for members in groups.values()
    ]


def _in_parts(buffer: _Buffer) -> bool:
    """Whether the blocks of a cluster fill the buffer together."""
    return any(isinstance(user, gpu_tma.TmaLoad) and gpu_tma.parts_of(user) > 1 for user in buffer.users)


# ---- what was asked for, or could be expected, and did not come ----


def _stage_notes(kernel: KernelOp, channels: list[dict[str, Any]], target: Target, stages: int | None) -> Iterator[str]:
    """Why loops have fewer stages than the hint says."""
    if stages is None or stages < 2 or EARLY_LOADS in kernel.attributes:
        return
    made = max((channel["stages"] for channel in channels), default=0)
    if made >= stages:
        return
    if not target.has(Feature.CP_ASYNC):
        why = f"{target.name} has no asynchronous copies, so loops have no stages"
    elif made:
        why = f"loops have {made}, as many as shared memory and their iterations leave room for"
    else:
        why = "no loop loads tiles early: fewer than two stages fit, or no staged load can be copied asynchronously"
    yield f"num_stages={stages}: {why}"


def _cluster_notes(kernel: KernelOp, cluster: int) -> Iterator[str]:
    """Why blocks form no clusters where the hint says so."""
    asked = kernel.integer(NUM_CTAS) or 1
    if asked <= cluster:
        return
    if _roles(kernel):
        why = "what neighbours along the grid read differs, or comes in tiles that are no such multiple of 8 rows"
    else:
        why = "no warp of its own copies what loops load"
    yield f"num_ctas={asked}: blocks load nothing together: {why}"


def _product_notes(kernel: KernelOp, target: Target) -> Iterator[str]:
    """Products that no matrix instruction takes, on targets that have such."""
    matrix = [atom for atom in target.atoms if atom.scope is not Scope.THREAD]
    if not matrix:
        return
    for op in kernel.walk():
        if isinstance(op, simt.Dot):
            place = location_of(op)
            line = f"line {place.line}: " if place is not None else ""
            assert isinstance(op.a.type, BufferType) and isinstance(op.b.type, BufferType)
            types = " and ".join(dict.fromkeys(str(t.element_type) for t in (op.a.type, op.b.type)))
            taken = ", ".join(dict.fromkeys(atom.a for atom in matrix))
            yield f"{line}a product of {types} by fused multiply-adds: {target.name} has matrix units for {taken}"
