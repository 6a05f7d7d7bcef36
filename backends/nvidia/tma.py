"""Bulk tensor copies (TMA). PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor".

The tensor map is a parameter of the kernel, by value and constant (`nvvm.grid_constant`); `tensor_map.tensor_maps`
says which maps a kernel takes, in which order. Coordinates count elements, the fastest axis first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, SSAValue

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.nvidia.features import need
from tileopt.backends.nvidia.mbarrier import assembly, barrier_address
from tileopt.backends.nvidia.ptx import Statement
from tileopt.backends.nvidia.shared import shared_address
from tileopt.dialects import gpu_tma as gpu
from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.target import Feature
from tileopt.dialects.tensor_map import FARTHEST, TensorMap, parted_axis, tensor_map, unfit
from tileopt.dialects.tile_types import BufferType

MAP_BYTES = 128


def map_name(found: TensorMap) -> str:
    """The parameter that holds a map."""
    words = (found.parameter, *found.order, *found.box, found.swizzle)
    return "%map." + ".".join(map(str, words))


def parameters(kernel: KernelOp) -> list[str]:
    """The kernel's last parameters: its tensor maps."""
    from tileopt.dialects.tensor_map import tensor_maps

    return [
        f'ptr byval([{MAP_BYTES} x i8]) align 64 "nvvm.grid_constant" {map_name(found)}'
        for found in tensor_maps(kernel)
    ]


def load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.TmaLoad)
    need(op, Feature.TMA)
    barrier, parts = barrier_address(emitter, op.barriers, op.index), gpu.parts_of(op)
    for place, coordinates in boxes(emitter, op.buffer, op.offsets, parts):
        names, constraints, operands = coordinate_operands(coordinates, 2)
        last = 2 + len(coordinates)
        many, mask = (".multicast::cluster", f", {(1 << parts) - 1}") if parts > 1 else ("", "")
        text = (
            f"cp.async.bulk.tensor.{len(coordinates)}d.shared::cluster.global.mbarrier::complete_tx::bytes{many} "
            f"[$0], [$1, {{{names}}}], [${last}]{mask};"
        )
        pointer = f"ptr {map_name(map_of(op.view, op.buffer, parts))}"
        assembly(emitter, text, f"r,l,{constraints},r", f"i32 {place}", pointer, *operands, f"i32 {barrier}")


def store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.TmaStore)
    need(op, Feature.TMA)
    for place, coordinates in boxes(emitter, op.buffer, op.offsets):
        names, constraints, operands = coordinate_operands(coordinates, 2)
        text = f"cp.async.bulk.tensor.{len(coordinates)}d.global.shared::cta.bulk_group [$1, {{{names}}}], [$0];"
        pointer = f"ptr {map_name(map_of(op.view, op.buffer))}"
        assembly(emitter, text, f"r,l,{constraints}", f"i32 {place}", pointer, *operands)


def map_of(view: SSAValue, buffer: SSAValue, parts: int = 1) -> TensorMap:
    assert isinstance(buffer.type, BufferType)
    reason = unfit(view, buffer.type)
    if reason is not None:
        raise CompileError("gpu/tensor-map", f"the copy engine cannot move this tile: {reason}")
    return tensor_map(view, buffer.type, parts)


def boxes(
    emitter: Emitter, buffer: SSAValue, offsets: Sequence[SSAValue], parts: int = 1
) -> Iterator[tuple[str, list[str]]]:
    """For each panel of the tile: its address in shared memory and the coordinates of its first element, both i32. Of a
    tile in parts: those of the part that this block of the cluster copies."""
    held = emitter.buffer(buffer)
    shared = held.type.shared_layout
    base = shared_address(emitter, held.pointer)
    coordinates = [coordinate(emitter, offsets[axis]) for axis in reversed(shared.order)]
    size = types.bytes_of(types.memory_type(emitter.element(held.type.element_type)))
    if parts > 1:
        axis = parted_axis(shared, parts)
        assert axis is not None
        rank, rows, at = cluster_rank(emitter), shared.shape[axis] // parts, shared.order[::-1].index(axis)
        base = emitter.assign(
            f"add i32 {base}, {emitter.assign(f'mul i32 {rank}, {rows * shared.strides[axis] * size}')}"
        )
        coordinates[at] = emitter.assign(f"add i32 {coordinates[at]}, {emitter.assign(f'mul i32 {rank}, {rows}')}")
    for panel in range(shared.panels):
        if not panel:
            yield base, coordinates
            continue
        moved = emitter.assign(f"add i32 {base}, {panel * shared.panel_stride * size}")
        fast = emitter.assign(f"add i32 {coordinates[0]}, {panel * shared.panel}")
        yield moved, [fast, *coordinates[1:]]


def cluster_rank(emitter: Emitter) -> str:
    """This block's number in its cluster, an i32."""
    statement = Statement()
    out = statement.output("i32")
    return statement.emit(emitter, f"mov.u32 {out}, %cluster_ctarank;", "nounwind memory(none)")[0]


def coordinate(emitter: Emitter, offset: SSAValue) -> str:
    """An offset as the copy engine takes it, an i32. What is farther outside than any array goes stays outside: a grid
    may have more blocks than an array has tiles."""
    text = emitter.scalar(offset)
    if text.lstrip("-").isdigit():
        return str(max(-FARTHEST, min(int(text), FARTHEST)))
    least = emitter.call("i64", "llvm.smin.i64", ("i64", text), ("i64", str(FARTHEST)))
    inside = emitter.call("i64", "llvm.smax.i64", ("i64", least), ("i64", str(-FARTHEST)))
    return emitter.assign(f"trunc i64 {inside} to i32")


def coordinate_operands(coordinates: list[str], first: int) -> tuple[str, str, list[str]]:
    """Placeholders, constraints and typed operands of coordinates, numbered from `first`."""
    names = ", ".join(f"${first + i}" for i in range(len(coordinates)))
    return names, ",".join("r" for _ in coordinates), [f"i32 {c}" for c in coordinates]


def commit(emitter: Emitter, op: Operation) -> None:
    need(op, Feature.TMA)
    assembly(emitter, "cp.async.bulk.commit_group;")


def wait(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.TmaWait)
    need(op, Feature.TMA)
    assembly(emitter, f"cp.async.bulk.wait_group{'.read' if op.read is not None else ''} {op.pending.value.data};")


HANDLERS: dict[type[Operation], Handler] = {
    gpu.TmaLoad: load,
    gpu.TmaStore: store,
    gpu.TmaCommit: commit,
    gpu.TmaWait: wait,
}
