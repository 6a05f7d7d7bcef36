"""The rules by which tile ops become fragment ops: memory, shape, reductions, conversions and products."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tileopt.dialects import gpu, gpu_wgmma, simt, tile
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.encodings import LayoutAttr, layout_of
from tileopt.dialects.layout import Bases, Coord, Layout, relabel
from tileopt.dialects.target import Feature, Scope, Space
from tileopt.dialects.tile import ReduceKind
from tileopt.dialects.tile_types import BufferType, tile_shape
from tileopt.passes.layout.assign_layouts import unit_reshape
from tileopt.passes.layout.buffers import staged_layout
from tileopt.passes.layout.matrix_loads import fits_ldmatrix
from tileopt.passes.lowering.accumulated import accumulated
from tileopt.passes.lowering.bulk_store import lower_bulk_store
from tileopt.passes.lowering.lower_tile_to_simt import STRUCTURE, Lowering, Rule, fragment_type
from tileopt.passes.lowering.map_fragments import lower_map
from tileopt.passes.lowering.packed_fragments import PACKED
from tileopt.passes.lowering.registers import select, span, vector_of

# --- memory --------------------------------------------------------------------------------------------------------


def lower_load(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Load)
    properties = span(layout_of(op.result.type)) | op.properties
    new = state.emit(
        simt.FragmentLoad, [state.value(v) for v in op.operands], [fragment_type(op.result.type)], properties
    )
    state.map(op.result, new.results[0])


def lower_store(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Store)
    if op.bulk is not None:
        lower_bulk_store(state, op)
        return
    state.emit(
        simt.FragmentStore,
        [state.value(v) for v in op.operands],
        [],
        span(layout_of(op.value.type)) | op.properties,
    )


def lower_atomic(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.AtomicRmw)
    operands = [state.value(v) for v in op.operands]
    state.emit(simt.FragmentAtomic, operands, [], span(layout_of(op.value.type)) | op.properties)


def lower_stage(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Stage)
    buffer = state.emit(simt.AllocShared, [], [op.result.type]).results[0]
    shared_store(state, state.value(op.source), buffer, layout_of(op.source.type))
    state.map(op.result, buffer)


def shared_store(state: Lowering, value: SSAValue, buffer: SSAValue, layout: Layout) -> None:
    state.emit(simt.SharedStore, [value, buffer], [], {"layout": LayoutAttr.of(layout)})


def lower_unstage(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Unstage)
    state.map(op.result, read_shared(state, state.value(op.source), layout_of(op.result.type)))


def read_shared(state: Lowering, buffer: SSAValue, layout: Layout) -> SSAValue:
    """A fragment from shared memory, by `ldmatrix` where its 8x8 blocks allow."""
    assert isinstance(buffer.type, BufferType)
    use = gpu.LdMatrix if state.target.has(Feature.LDMATRIX) and fits_ldmatrix(layout, buffer.type) else simt.SharedLoad
    result = vector_of(buffer.type.element_type, layout)
    return state.emit(use, [buffer], [result], {"layout": LayoutAttr.of(layout)}).results[0]


def lower_load_buffer(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.LoadBuffer)
    state.map(op.result, read_shared(state, state.value(op.mem), layout_of(op.result.type)))


def lower_store_buffer(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.StoreBuffer)
    shared_store(state, state.value(op.value), state.value(op.mem), layout_of(op.value.type))


def lower_view(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.TransposeBuffer | tile.ReshapeBuffer)
    new = state.emit(simt.ViewBuffer, [state.value(op.source)], [op.result.type])
    state.map(op.result, new.results[0])


# --- shape ---------------------------------------------------------------------------------------------------------


def lower_arange(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Arange)
    properties = span(layout_of(op.result.type)) | {"axis": IntegerAttr(0, i64)}
    new = state.emit(simt.FragmentCoord, [], [fragment_type(op.result.type)], properties)
    state.map(op.result, new.results[0])


def lower_broadcast(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Broadcast)
    source, result = layout_of(op.source.type), layout_of(op.result.type)
    stretched = [s == 1 != r for s, r in zip(source.shape, result.shape, strict=True)]
    held = {at: register for register, at in enumerate(source.register_coords)}
    registers = tuple(
        held[tuple(0 if wide else c for c, wide in zip(at, stretched, strict=True))] for at in result.register_coords
    )
    state.map(op.result, select(state, state.value(op.source), registers))


def lower_transpose(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Transpose)
    order = [int(a) for a in op.permutation.get_values()]
    source, result = layout_of(op.source.type), layout_of(op.result.type)
    # The permuted layout counts its repeats in the new order of axes, so registers are renumbered.
    held = {tuple(at[a] for a in order): r for r, at in enumerate(source.register_coords)}
    state.map(op.result, select(state, state.value(op.source), tuple(held[at] for at in result.register_coords)))


def lower_reshape(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Reshape)
    source, result = layout_of(op.source.type), layout_of(op.result.type)
    value = state.value(op.source)
    seen = unit_reshape(source, result.shape)
    if seen is not None:
        registers = relabel(seen, result)
        if registers is not None:
            state.map(op.result, select(state, value, registers))
            return
    # Elements keep their row-major number, so one buffer serves under both shapes.
    element = element_type(op.source.type)
    buffer = state.emit(simt.AllocShared, [], [BufferType.of(source.shape, element)]).results[0]
    shared_store(state, value, buffer, source)
    view = state.emit(simt.ViewBuffer, [buffer], [BufferType.of(result.shape, element)]).results[0]
    state.map(op.result, read_shared(state, view, result))


def lower_to_scalar(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.ToScalar)
    new = state.emit(simt.Extract, [state.value(op.source)], [op.result.type], {"register": IntegerAttr(0, i64)})
    state.map(op.result, new.results[0])


def lower_convert(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.ConvertLayout)
    source, result = layout_of(op.source.type), layout_of(op.result.type)
    value = state.value(op.source)
    # Phantoms of a product's operand must be zero, which only the way through shared memory gives.
    registers = None if result.has_phantoms else relabel(source, result)
    if registers is not None:
        state.map(op.result, select(state, value, registers))
        return
    element = element_type(op.source.type)
    order = tuple(range(len(source.shape)))
    buffer_type = BufferType.of(source.shape, element, staged_layout(source.shape, element, order, state.target.banked))
    buffer = state.emit(simt.AllocShared, [], [buffer_type]).results[0]
    shared_store(state, value, buffer, source)
    state.map(op.result, read_shared(state, buffer, result))


# --- reductions ----------------------------------------------------------------------------------------------------

COMBINE_FLOAT: dict[str, type[Operation]] = {
    ReduceKind.SUM: arith.AddfOp,
    ReduceKind.PROD: arith.MulfOp,
    ReduceKind.MAX: arith.MaximumfOp,
    ReduceKind.MIN: arith.MinimumfOp,
}
COMBINE_INTEGER: dict[str, type[Operation]] = {
    ReduceKind.SUM: arith.AddiOp,
    ReduceKind.PROD: arith.MuliOp,
    ReduceKind.MAX: arith.MaxSIOp,
    ReduceKind.MIN: arith.MinSIOp,
    ReduceKind.UMAX: arith.MaxUIOp,
    ReduceKind.UMIN: arith.MinUIOp,
    ReduceKind.AND: arith.AndIOp,
    ReduceKind.OR: arith.OrIOp,
    ReduceKind.XOR: arith.XOrIOp,
}


def combine(state: Lowering, kind: str, a: SSAValue, b: SSAValue) -> SSAValue:
    table = COMBINE_INTEGER if isinstance(element_type(a.type), IntegerType) else COMBINE_FLOAT
    properties: dict[str, Attribute] = {}
    if table is COMBINE_FLOAT:
        properties["fastmath"] = arith.FastMathFlagsAttr("none")
    elif kind in (ReduceKind.SUM, ReduceKind.PROD):
        properties["overflowFlags"] = arith.IntegerOverflowAttr("none")
    return state.emit(table[kind], [a, b], [a.type], properties).results[0]


def lower_reduce(state: Lowering, op: Operation) -> None:
    """Registers first, then the lanes of a warp by a butterfly, then the warps through shared memory."""
    assert isinstance(op, tile.Reduce)
    layout, axis, kind = layout_of(op.source.type), op.axis.value.data, op.kind.data
    element = element_type(op.source.type)
    left = layout.drop_axis(axis)
    value = in_thread(state, state.value(op.source), layout, axis, kind)
    for bit, basis in enumerate(layout.lanes):
        if basis[axis]:
            mask: dict[str, Attribute] = {"mask": IntegerAttr(1 << bit, i64)}
            other = state.emit(simt.ShuffleXor, [value], [value.type], mask).results[0]
            value = combine(state, kind, value, other)
    crossing = [bit for bit, basis in enumerate(layout.warps) if basis[axis]]
    if crossing:
        written, read = partial_layouts(left, crossing)
        buffer = state.emit(simt.AllocShared, [], [BufferType.of(written.shape, element)]).results[0]
        shared_store(state, value, buffer, written)
        gathered = read_shared(state, buffer, read)
        value = in_thread(state, gathered, read, 0, kind)
    state.map(op.result, value)


def in_thread(state: Lowering, value: SSAValue, layout: Layout, axis: int, kind: str) -> SSAValue:
    result = vector_of(element_type(value.type), layout.drop_axis(axis))
    properties = span(layout) | {"axis": IntegerAttr(axis, i64), "kind": StringAttr(kind)}
    return state.emit(simt.FragmentReduce, [value], [result], properties).results[0]


def partial_layouts(left: Layout, crossing: list[int]) -> tuple[Layout, Layout]:
    """Layouts of the tile of partial results, one row a warp that shares the axis: as written, and as read back."""
    shape = (1 << len(crossing), *left.shape)

    def row(basis: Coord, value: int = 0) -> Coord:
        return (value, *basis)

    lanes: Bases = tuple(map(row, left.lanes))
    regs: Bases = tuple(map(row, left.regs))
    warps_written = tuple(
        row(basis, 1 << crossing.index(bit) if bit in crossing else 0) for bit, basis in enumerate(left.warps)
    )
    rows = tuple(row((0,) * len(left.shape), 1 << i) for i in range(len(crossing)))
    written = Layout(shape, regs, lanes, warps_written)
    read = Layout(shape, (*regs, *rows), lanes, tuple(map(row, left.warps)))
    return written, read


# --- products ------------------------------------------------------------------------------------------------------


def lower_mma(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Mma) and op.atom is not None
    operands = [state.value(v) for v in (op.a, op.b, op.acc)]
    acc = layout_of(op.acc.type)
    result = fragment_type(op.result.type)
    atom = state.target.atom(op.atom.data)
    properties: dict[str, Attribute]
    if atom.acc_space is Space.TENSOR:
        state.map(op.result, accumulated(state, op, op.atom, *operands))
        return
    if atom.scope is Scope.WARPGROUP:
        properties = {"atom": op.atom, "layout_acc": LayoutAttr.of(acc)}
        if isinstance(op.a.type, TensorType):
            properties["layout_a"] = LayoutAttr.of(layout_of(op.a.type))
        started = state.emit(gpu_wgmma.Wgmma, operands, [result], properties)
        new = state.emit(gpu_wgmma.WgmmaWait, [started.results[0]], [result], {"pending": IntegerAttr(0, i64)})
    elif atom.scope is Scope.THREAD:
        properties = {"layout": LayoutAttr.of(acc)}
        if op.unsigned is not None:
            properties["unsigned"] = op.unsigned
        new = state.emit(simt.Dot, operands, [result], properties)
    else:
        m, n = acc.shape
        properties = {
            "atom": op.atom,
            "m": IntegerAttr(m, i64),
            "n": IntegerAttr(n, i64),
            "k": IntegerAttr(tile_shape(op.a.type)[1], i64),
            "layout_a": LayoutAttr.of(layout_of(op.a.type)),
            "layout_b": LayoutAttr.of(layout_of(op.b.type)),
            "layout_acc": LayoutAttr.of(acc),
        }
        if op.scales:
            operands += [state.value(v) for v in op.scales]
            properties["blocks"] = IntegerAttr(tile_shape(op.scales[0].type)[1], i64)
            for name, scale in zip(("layout_a_scale", "layout_b_scale"), op.scales, strict=True):
                properties[name] = LayoutAttr.of(layout_of(scale.type))
        new = state.emit(gpu.MmaSync, operands, [result], properties)
    state.map(op.result, new.results[0])


TABLE: dict[type[Operation], Rule] = (
    STRUCTURE
    | PACKED
    | {
        tile.Load: lower_load,
        tile.Store: lower_store,
        tile.AtomicRmw: lower_atomic,
        tile.Stage: lower_stage,
        tile.Unstage: lower_unstage,
        tile.LoadBuffer: lower_load_buffer,
        tile.StoreBuffer: lower_store_buffer,
        tile.TransposeBuffer: lower_view,
        tile.ReshapeBuffer: lower_view,
        tile.Arange: lower_arange,
        tile.Broadcast: lower_broadcast,
        tile.Transpose: lower_transpose,
        tile.Reshape: lower_reshape,
        tile.ToScalar: lower_to_scalar,
        tile.ConvertLayout: lower_convert,
        tile.Reduce: lower_reduce,
        tile.Mma: lower_mma,
        tile.MapSimt: lower_map,
    }
)
