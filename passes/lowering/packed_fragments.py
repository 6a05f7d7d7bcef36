"""Fragments of packed values and of repeated elements: registers of one thread, whose order the layouts say."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.dialects import simt_packed, tile
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.encodings import layout_of
from tileopt.dialects.layout import relabel
from tileopt.passes.lowering.lower_tile_to_simt import Lowering, Rule
from tileopt.passes.lowering.registers import select, vector_of


def lower_unpack(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Unpack)
    result = layout_of(op.result.type)
    pairs = layout_of(op.source.type).widen(op.axis.value.data, 2)
    type_ = vector_of(element_type(op.result.type), pairs)
    values = state.emit(simt_packed.FragmentUnpack, [state.value(op.source)], [type_], {"format": op.format})
    registers = relabel(pairs, result)
    assert registers is not None, "the verifier saw that both values of a byte stay in its thread"
    state.map(op.result, select(state, values.results[0], registers))


def lower_pack(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Pack)
    result = layout_of(op.result.type)
    registers = relabel(layout_of(op.source.type), result.widen(op.axis.value.data, 2))
    assert registers is not None, "the verifier saw that both values of a byte are in one thread"
    pairs = select(state, state.value(op.source), registers)
    type_ = vector_of(element_type(op.result.type), result)
    state.map(op.result, state.emit(simt_packed.FragmentPack, [pairs], [type_], {"format": op.format}).results[0])


def lower_repeat(state: Lowering, op: Operation) -> None:
    assert isinstance(op, tile.Repeat)
    source, result = layout_of(op.source.type), layout_of(op.result.type)
    axis, count = op.axis.value.data, op.count.value.data
    held = {at: register for register, at in enumerate(source.register_coords)}
    registers = tuple(held[(*at[:axis], at[axis] // count, *at[axis + 1 :])] for at in result.register_coords)
    state.map(op.result, select(state, state.value(op.source), registers))


PACKED: dict[type[Operation], Rule] = {
    tile.Unpack: lower_unpack,
    tile.Pack: lower_pack,
    tile.Repeat: lower_repeat,
}
