"""The lowering of a product whose accumulator lies in tensor memory: stored there, added to, waited for, read.

What is done between two products is done in registers, so this alone is right for any program. `keep-accumulators`
leaves the accumulator where it is while only products, or loops, take it from one another.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, SSAValue

from tileopt.dialects import gpu_accumulator as gpu
from tileopt.dialects import simt, tile
from tileopt.dialects.encodings import LayoutAttr, layout_of
from tileopt.passes.lowering.lower_tile_to_simt import Lowering, fragment_type


def accumulated(state: Lowering, op: tile.Mma, atom: StringAttr, a: SSAValue, b: SSAValue, acc: SSAValue) -> SSAValue:
    """The fragment of the result."""
    layout = layout_of(op.acc.type)
    columns = gpu.columns_of(*layout.shape)
    place = state.emit(gpu.Accumulator, [], [i32], {"columns": IntegerAttr(columns, i64)}).results[0]
    moved: dict[str, Attribute] = {
        "layout": LayoutAttr.of(layout),
        "shape": DenseArrayBase.from_list(i64, list(layout.shape)),
    }
    properties: dict[str, Attribute] = {"atom": atom}
    if is_zero(acc):
        properties["fresh"] = UnitAttr()
    else:
        state.emit(gpu.AccumulatorStore, [acc, place], [], moved)
    state.emit(gpu.Accumulate, [a, b, place], [], properties)
    state.emit(gpu.AccumulatorWait, [])
    return state.emit(gpu.AccumulatorLoad, [place], [fragment_type(op.result.type)], moved).results[0]


def is_zero(value: SSAValue) -> bool:
    """Whether all of a fragment is +0."""
    splat = value.owner
    constant = splat.value.owner if isinstance(splat, simt.Splat) else None
    if not isinstance(constant, arith.ConstantOp):
        return False
    match constant.value:
        case IntegerAttr(value=number):
            return number.data == 0
        case FloatAttr(value=number):
            return str(number.data) == "0.0"  # -0.0 has other bits
        case _:
            return False
